// Page weights and layout shift of every screen, as a table for docs/screens.md.

import { shift } from './checks.mjs'
import { launch, visitor } from './lib.mjs'
import { walk } from './walk.mjs'
import { heaviest, weigh } from './weight.mjs'

const browser = await launch()
const rows = new Map()
for (const [size, viewport] of [['phone', { width: 390, height: 760 }], ['desk', { width: 1280, height: 860 }]]) {
  const one = await visitor({ browser }, { viewport })
  await walk(one, async (name, page) => {
    const moved = await shift(page)
    const row = rows.get(name) ?? (await weigh(name, page))
    rows.set(name, { ...row, [size]: moved })
  })
  await one.context.close()
}
console.log(`| Screen | page | with script, style and mark | not compressed | shift, phone | shift, desk |\n|---|---:|---:|---:|---:|---:|`)
for (const { name, page, total, plain, phone, desk } of rows.values()) {
  console.log(`| ${name} | ${page} | ${total} | ${plain} | ${phone.toFixed(4)} | ${desk?.toFixed(4) ?? ''} |`)
}
const { name, total } = heaviest([...rows.values()])
console.log(`\n${rows.size} screens in ${browser.version()}; the heaviest is ${name} with ${total} bytes.`)
await browser.close()
