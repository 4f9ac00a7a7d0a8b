// Page weights and layout shift of every screen, as a table for docs/screens.md.

import { shift } from './checks.mjs'
import { launch, slow, visitor } from './lib.mjs'
import { walk } from './walk.mjs'
import { heaviest, weigh } from './weight.mjs'

const browser = await launch()
const rows = new Map()
const hand = { width: 390, height: 760 }
for (const [size, viewport] of [['phone', hand], ['desk', { width: 1280, height: 860 }], ['slowly', hand]]) {
  const one = await visitor({ browser }, { viewport })
  if (size === 'slowly') await slow(one)
  await walk(one, async (name, page) => {
    const moved = (await shift(page)).reduce((sum, [far]) => sum + far, 0)
    const row = rows.get(name) ?? (await weigh(name, page))
    rows.set(name, { ...row, [size]: moved })
  })
  await one.context.close()
}
console.log(`| Screen | page | with script, style and mark | not compressed | shift, phone | shift, desk | shift, slow phone |\n|---|---:|---:|---:|---:|---:|---:|`)
for (const { name, page, total, plain, phone, desk, slowly } of rows.values()) {
  console.log(`| ${name} | ${page} | ${total} | ${plain} | ${[phone, desk, slowly].map((moved) => moved?.toFixed(4) ?? '').join(' | ')} |`)
}
const { name, total } = heaviest([...rows.values()])
console.log(`\n${rows.size} screens in ${browser.version()}; the heaviest is ${name} with ${total} bytes.`)
await browser.close()
