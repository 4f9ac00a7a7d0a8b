// Writes down what a screen reader finds on every screen, for the test to compare with.

import { writeFile } from 'node:fs/promises'
import { names } from './checks.mjs'
import { launch, visitor } from './lib.mjs'
import { walk } from './walk.mjs'

const browser = await launch()
const lines = []
await walk(await visitor({ browser }, { viewport: { width: 320, height: 640 } }), async (name, page) => {
  lines.push(`${name}: ${(await names(page)).join(' · ')}`)
})
await browser.close()
await writeFile(process.env.PORTEIRO_NAMES, `${lines.join('\n')}\n`)
console.log(`${lines.length} screens`)
