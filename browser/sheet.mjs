// A chosen few screens on one sheet.

import { readFile, writeFile } from 'node:fs/promises'
import { launch, visitor } from './lib.mjs'
import { walk } from './walk.mjs'

const phone = { width: 390, height: 844 }
const desk = { width: 1024, height: 880 }
/** screen, language, scheme, size, caption; as they stand on the sheet. */
const chosen = [
  ['sign-in-for-app', 'en', 'light', desk, 'Sign in'],
  ['consent', 'pt', 'light', desk, 'Consent'],
  ['security-full', 'en', 'dark', desk, 'Account'],
  ['sign-in-for-app', 'pt', 'dark', phone, 'Sign in'],
  ['offer', 'en', 'light', phone, 'A passkey'],
  ['consent-device', 'en', 'dark', phone, 'A device'],
  ['consent-stranger', 'en', 'light', phone, 'Unchecked app'],
  ['apps', 'pt', 'light', phone, 'Apps and agents'],
  ['totp-scan', 'pt', 'dark', phone, 'Authenticator'],
]

const browser = await launch()
const taken = new Map()
for (const lang of ['en', 'pt']) {
  const one = await visitor({ browser }, { lang })
  await walk(one, async (name, page) => {
    for (const shot of chosen.filter(([screen, language]) => screen === name && language === lang)) {
      await page.setViewportSize(shot[3])
      await page.emulateMedia({ colorScheme: shot[2] })
      taken.set(shot, (await page.screenshot()).toString('base64'))
    }
    await page.emulateMedia({ colorScheme: 'light' })
  })
  await one.context.close()
}

const figure = (shot) => {
  const [, lang, scheme, size, caption] = shot
  return `<figure class="${size === phone ? 'phone' : 'desk'}"><img src="data:image/png;base64,${taken.get(shot)}"><figcaption>${caption} <span>${lang} · ${scheme} · ${size.width} px</span></figcaption></figure>`
}
const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } })
await page.setContent(`<!doctype html><meta charset="utf-8"><style>
  body { margin: 0; padding: 40px; inline-size: 1520px; background: #e7e4dc; color: #1d2321; font: 15px/1.4 system-ui, "Noto Sans", sans-serif; display: flex; flex-wrap: wrap; gap: 32px 20px; justify-content: space-between; }
  figure { margin: 0; } img { display: block; inline-size: 100%; border-radius: 10px; box-shadow: 0 0 0 1px rgb(0 0 0 / .08), 0 8px 24px -12px rgb(0 0 0 / .3); }
  figcaption { margin-block-start: 10px; font-weight: 600; } span { color: #58615e; font-weight: 400; }
  .desk { inline-size: 490px; } .phone { inline-size: 235px; }
</style>${chosen.map(figure).join('')}`)
const session = await page.context().newCDPSession(page)
const { height } = await (await page.$('html')).boundingBox()
await page.setViewportSize({ width: 1600, height: Math.ceil(height) })
const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 82 })
await writeFile(process.env.PORTEIRO_SHEET, Buffer.from(data, 'base64'))
console.log(`${process.env.PORTEIRO_SHEET}: ${(await readFile(process.env.PORTEIRO_SHEET)).length} bytes`)
await browser.close()
