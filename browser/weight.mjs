// What a page weighs when a browser comes for the first time: itself, the style, the script and the mark.

import { gzipSync } from 'node:zlib'
import { issuer } from './lib.mjs'

const known = new Map()
/** As the service sends it, and as gzip in front of it would. */
const fetched = async (path) => {
  if (!known.has(path)) {
    const bytes = Buffer.from(await (await fetch(new URL(path, issuer))).arrayBuffer())
    known.set(path, { plain: bytes.length, gzip: gzipSync(bytes).length })
  }
  return known.get(path)
}

export const weigh = async (name, page) => {
  const paths = await page.evaluate(() => [...document.querySelectorAll('link[href], script[src], img[src]')].map((element) => element.getAttribute('href') ?? element.getAttribute('src')))
  const content = Buffer.from(await page.content())
  const own = { plain: content.length, gzip: gzipSync(content).length }
  const rest = await Promise.all([...new Set(paths)].filter((path) => path.startsWith('/ui/assets/')).map(fetched))
  return {
    name,
    page: own.gzip,
    total: rest.reduce((sum, { gzip }) => sum + gzip, own.gzip),
    plain: rest.reduce((sum, { plain }) => sum + plain, own.plain),
  }
}

export const heaviest = (weights) => weights.reduce((most, one) => (one.total > most.total ? one : most))
