// A picture of every screen, in both languages, light and dark, on a phone and on a desk.

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { launch, visitor } from './lib.mjs'
import { walk } from './walk.mjs'

const folder = process.env.PORTEIRO_SHOTS
const sizes = { phone: { width: 390, height: 760 }, desktop: { width: 1280, height: 860 } }
const browser = await launch()
let count = 0
for (const lang of (process.env.PORTEIRO_SHOTS_LANGUAGES ?? 'en,pt').split(',')) {
  await mkdir(join(folder, lang), { recursive: true })
  const one = await visitor({ browser }, { lang })
  await walk(one, async (name, page) => {
    for (const colorScheme of ['light', 'dark']) {
      for (const [size, viewport] of Object.entries(sizes)) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme })
        await page.screenshot({ path: join(folder, lang, `${name}.${colorScheme}.${size}.png`), fullPage: true })
        count += 1
      }
    }
  })
  await one.context.close()
}
await browser.close()
console.log(`${count} pictures in ${folder}`)
