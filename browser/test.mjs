// What only a real browser can say about the screens.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { enter, follow, issuer, launch, mailed, open, press, someone, visitor } from './lib.mjs'
import { walk } from './walk.mjs'

let browser
before(async () => (browser = await launch()))
after(() => browser?.close())

const axe = await readFile(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

const serious = async (page) => {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => globalThis.axe.run())
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`)
}

/** No key of a catalogue is ever read by anybody. */
const keys = new Set()
for (const line of (await readFile(process.env.PORTEIRO_CATALOGUE, 'utf8')).split('\n')) {
  const key = /^([a-z][a-z0-9]*(?:-[a-z0-9]+)+) =/.exec(line)?.[1]
  if (key) keys.add(key)
}

for (const lang of ['en', 'pt']) {
  test(`every screen in ${lang}: no policy report, no serious accessibility finding, no key`, async () => {
    const one = await visitor(browser, { lang, viewport: { width: 320, height: 640 } })
    const seen = []
    await walk(one, async (name, page) => {
      seen.push(name)
      assert.deepEqual(await serious(page), [], name)
      const { text, language, headings, scrolls } = await page.evaluate(() => ({
        text: document.body.innerText,
        language: document.documentElement.lang,
        headings: document.querySelectorAll('h1').length,
        scrolls: document.documentElement.scrollWidth > document.documentElement.clientWidth,
      }))
      assert.equal(language, lang === 'pt' ? 'pt-BR' : 'en', name)
      assert.equal(headings, 1, `${name} has one h1`)
      assert.equal(scrolls, false, `${name} scrolls sideways at 320 pixels`)
      for (const word of text.split(/\s+/)) assert.ok(!keys.has(word), `${name} shows ${word}`)
    })
    assert.deepEqual(one.reports, [])
    assert.ok(seen.length > 35, `${seen.length} screens`)
    await one.context.close()
  })
}

test('every flow but passkeys without script', async () => {
  const one = await visitor(browser, { script: false })
  await walk(one, async () => {})
  await one.context.close()
})

/** An authenticator in software, as DevTools has it. */
const authenticator = async ({ context, page }) => {
  const session = await context.newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    credentials: async () =>
      (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    silent: (enabled) =>
      session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
    forget: (credentialId) => session.send('WebAuthn.removeCredential', { authenticatorId, credentialId }),
  }
}

const atAccount = (page) => page.waitForURL(`${issuer}/ui/account/security`)

test('a passkey: made at registration, used by the button, used from the address field', async () => {
  const one = await visitor(browser)
  const keys = await authenticator(one)
  const { page } = one
  const person = someone('Bia Lima')
  await open(page, '/ui/register')
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  await enter(one, (await mailed(person.address)).code, 'email_code/check')
  await page.fill('#display_name', person.name)
  await press(page, 'profile/set')
  await page.click('[data-passkey=create]')
  await atAccount(page)
  assert.equal((await keys.credentials()).length, 1)
  assert.match(await page.innerText('main'), /Passkey/)

  // By the button, in a browser that fills in no passkeys: the field would be faster.
  await page.addInitScript(() => {
    if (localStorage.getItem('button')) PublicKeyCredential.isConditionalMediationAvailable = async () => false
  })
  await page.evaluate(() => localStorage.setItem('button', '1'))
  await follow(page, 'form.out button')
  await open(page, '/ui/sign-in')
  await page.click('[data-passkey=get]')
  await atAccount(page)

  // From the address field: nothing is pressed.
  await page.evaluate(() => localStorage.clear())
  await follow(page, 'form.out button')
  await open(page, '/ui/sign-in')
  await atAccount(page)
  assert.deepEqual(one.reports, [])

  // A form still goes out while the field waits for a passkey.
  await keys.silent(false)
  await follow(page, 'form.out button')
  await open(page, '/ui/sign-in')
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  assert.match(await page.innerText('h1'), /Check your e-mail/)
  assert.deepEqual(one.reports, [])
  await one.context.close()
})

test('a flow of another browser does not exist', async () => {
  const one = await visitor(browser)
  const other = await visitor(browser)
  await open(one.page, '/ui/sign-in')
  const response = await other.page.goto(one.page.url())
  assert.equal(response.status(), 404)
  assert.match(await other.page.innerText('h1'), /not for this browser/)
  await one.context.close()
  await other.context.close()
})

test('a page sent twice says so and goes on', async () => {
  const one = await visitor(browser, { script: false })
  const { page } = one
  await open(page, '/ui/sign-in')
  const tab = await one.context.newPage()
  await tab.goto(page.url())
  const person = someone()
  for (const at of [page, tab]) {
    await at.fill('#identifier', person.address)
    await press(at, 'email_code/send')
  }
  assert.match(await tab.innerText('#problem'), /out of date/)
  assert.match(await tab.innerText('h1'), /Check your e-mail/)
  await one.context.close()
})

test('a page, its script and its style stay under 30 KB, compressed', async () => {
  const one = await visitor(browser)
  const heaviest = { size: 0 }
  const fetched = async (path) => gzipSync(Buffer.from(await (await fetch(new URL(path, issuer))).arrayBuffer())).length
  let shared
  await walk(one, async (name, page) => {
    shared ??= (await fetched(await page.getAttribute('link[rel=stylesheet]', 'href'))) + (await fetched(await page.getAttribute('head script', 'src')))
    const size = gzipSync(await page.content()).length + shared
    if (size > heaviest.size) Object.assign(heaviest, { size, name })
  })
  assert.ok(heaviest.size < 30_000, `${heaviest.name}: ${heaviest.size} bytes`)
  console.log(`# the heaviest is ${heaviest.name} with ${heaviest.size} bytes`)
  await one.context.close()
})
