// A person's first minute: from an app's "sign in" to registered with a passkey and back at the app, counted by the
// browser itself.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { authenticator, eventually, focused, issuer, mailed, request, shared, someone, visitor, website } from '../lib.mjs'

const one = shared(before, after)
const app = { client_id: process.env.PORTEIRO_CLIENT_ID, redirect_uri: process.env.PORTEIRO_CALLBACK }

test('a first minute: five taps, the address, a code and a name', async () => {
  const visit = await visitor(one, { hasTouch: true, isMobile: true, viewport: { width: 390, height: 760 } })
  const { context, page } = visit
  await authenticator(visit)
  const counted = { taps: 0, typed: 0, pages: 0 }
  await context.exposeBinding('counted', (_, what, many) => (counted[what] += many))
  await context.addInitScript(() => {
    addEventListener('click', (event) => event.isTrusted && event.detail && globalThis.counted('taps', 1), true)
    addEventListener('beforeinput', (event) => event.isTrusted && globalThis.counted('typed', event.data?.length ?? 0), true)
    addEventListener('pageshow', () => location.pathname.startsWith('/ui/') && globalThis.counted('pages', 1))
  })
  const site = await website(() => `<title>Ledger</title><a href="${new URL(request(app), issuer).href.replaceAll('&', '&amp;')}">Sign in</a>`)
  const person = someone('Ana Souza')
  /** Types where the page already put the cursor; where it did not, a tap is due first. */
  const type = async (selector, text) => {
    await page.waitForSelector(selector)
    if (!(await focused(page, selector))) await page.tap(selector)
    await page.keyboard.type(text)
  }
  const tap = async (selector) => {
    await page.waitForSelector(selector)
    await page.tap(selector)
  }

  await page.goto(`http://127.0.0.1:${site.port}/`)
  await tap('a')
  await type('#identifier', person.address)
  await tap('button[value="email_code/send"]')
  await type('#code', (await mailed(person.address)).code)
  await type('#display_name', person.name)
  await tap('button[value="profile/set"]')
  await tap('[data-passkey=create]')
  await tap('button[value="consent/allow"]')
  await page.waitForURL(`${app.redirect_uri}?**`)
  assert.ok(new URL(page.url()).searchParams.get('code'))

  const own = person.address.length + person.name.length
  await eventually(() => counted.taps >= 5 && counted.typed >= own + 6)
  console.log(`# a first minute: ${counted.taps} taps, ${counted.typed} characters (address ${person.address.length}, code 6, name ${person.name.length}), ${counted.pages} pages of ours`)
  assert.deepEqual({ taps: counted.taps, typed: counted.typed }, { taps: 5, typed: own + 6 })
  assert.deepEqual(visit.reports, [])
  site.close()
  await visit.context.close()
})
