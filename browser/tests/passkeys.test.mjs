// Passkeys: groups 1 and 2.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { authenticator, enter, eventually, focused, follow, introduced, issuer, launch, mailed, open, press, request, shared, someone, visitor, website } from '../lib.mjs'

const one = shared(before, after)

const atAccount = (page) => page.waitForURL(`${issuer}/ui/account/security`)
const problem = '#script-problem:not([hidden])'

/** Registers with a passkey. Signed in afterwards. */
const registered = async (visit, person) => {
  const { page } = visit
  await introduced(visit, person)
  await page.click('[data-passkey=create]')
  await atAccount(page)
}

/** A browser that fills in no passkeys, so that the button is what is used. */
const byButton = (page) =>
  page.addInitScript(() => {
    PublicKeyCredential.isConditionalMediationAvailable = async () => false
  })

test('1 a passkey is made at registration, used by the button, used from the address field', async () => {
  const visit = await visitor(one)
  const keys = await authenticator(visit)
  const { page } = visit
  await registered(visit, someone('Bia Lima'))
  assert.equal((await keys.credentials()).length, 1)
  assert.match(await page.innerText('main'), /Passkey/)

  // From the address field: nothing is pressed.
  await follow(page, 'form.out button')
  await open(page, '/ui/sign-in')
  await atAccount(page)

  await follow(page, 'form.out button')
  await byButton(page)
  await open(page, '/ui/sign-in')
  await page.click('[data-passkey=get]')
  await atAccount(page)
  assert.deepEqual(visit.reports, [])
  await visit.context.close()
})

test('1 back at the app without a question: by a passkey that is used, and by one that is made, in the address and by a form', async () => {
  const app = { client_id: process.env.PORTEIRO_CLIENT_ID, redirect_uri: process.env.PORTEIRO_CALLBACK }
  const visit = await visitor(one)
  await authenticator(visit)
  const { page } = visit
  await byButton(page)
  const person = someone('Olga Braga')
  /** Home again, with a code. */
  const home = async (mode) => {
    await page.waitForURL((url) => url.href.startsWith(app.redirect_uri))
    if (mode === 'form_post') assert.match((await posted).postData(), /(^|&)code=/)
    else assert.ok(new URL(page.url()).searchParams.get('code'), page.url())
    await open(page, '/connect/logout')
    await follow(page, 'main form button')
  }
  let posted
  const asks = async (mode) => {
    posted = page.waitForRequest((asked) => asked.url() === app.redirect_uri && asked.method() === 'POST')
    posted.catch(() => {})
    await open(page, request(app, { response_mode: mode }))
  }
  // The first time they are asked, and that is remembered.
  await asks('query')
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  await enter(visit, (await mailed(person.address)).code, 'email_code/check')
  await page.fill('#display_name', person.name)
  await press(page, 'profile/set')
  await press(page, 'enrol/skip')
  await page.click('button[value="consent/allow"]')
  await home('query')

  // Signed in by mail, offered a passkey: what ends the flow is making it.
  const { count } = await mailed(person.address)
  await asks('query')
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  await enter(visit, (await mailed(person.address, count)).code, 'email_code/check')
  await page.click('[data-passkey=create]')
  await home('query')
  for (const mode of ['query', 'form_post']) {
    await asks(mode)
    await page.click('[data-passkey=get]')
    await home(mode)
  }
  assert.deepEqual(visit.reports, [])
  await visit.context.close()
})

test('1 nobody verified: the browser refuses, and so do we where it does not', async () => {
  const visit = await visitor(one)
  const keys = await authenticator(visit)
  const { page } = visit
  await byButton(page)
  await registered(visit, someone('Davi Reis'))
  await follow(page, 'form.out button')
  await keys.verified(false)
  await open(page, '/ui/sign-in')
  await page.click('[data-passkey=get]')
  await page.waitForSelector(problem)
  assert.match(await page.innerText(problem), /Nothing was chosen/)

  // A browser that does not mind: it asks for no verification, and the answer carries none.
  const answers = []
  page.on('response', (response) => response.request().method() === 'POST' && response.url().includes('/ui/flow/') && answers.push(response.status()))
  await page.addInitScript(() => {
    const get = navigator.credentials.get.bind(navigator.credentials)
    navigator.credentials.get = (options) => get({ ...options, publicKey: { ...options.publicKey, userVerification: 'discouraged' } })
  })
  await page.reload()
  await page.click('[data-passkey=get]')
  await page.waitForSelector('#problem')
  assert.match(await page.innerText('#problem'), /did not work here/)
  await eventually(() => answers.length)
  assert.deepEqual(answers, [422])
  assert.ok(await focused(page, '#problem'))

  // And making one is refused in the same way.
  await keys.verified(true)
  await page.reload()
  await open(page, '/ui/account/security')
  assert.equal(new URL(page.url()).pathname.startsWith('/ui/flow/'), true, 'nobody is signed in')
  await visit.context.close()
})

test('1 a passkey that was removed here is signalled as unknown, and the authenticator forgets it', async () => {
  const visit = await visitor(one)
  const keys = await authenticator(visit)
  const { page, context } = visit
  const told = []
  await context.exposeBinding('told', (_, what) => told.push(what))
  await page.addInitScript(() => {
    for (const name of ['signalUnknownCredential', 'signalAllAcceptedCredentials']) {
      const original = PublicKeyCredential[name].bind(PublicKeyCredential)
      PublicKeyCredential[name] = async (options) => {
        await original(options)
        await globalThis.told({ name, ...options })
      }
    }
  })
  await byButton(page)
  const person = someone('Eva Melo')
  await registered(visit, person)
  const [{ credentialId }] = await keys.credentials()
  const id = Buffer.from(credentialId, 'base64').toString('base64url')
  const listed = () => told.some((call) => call.name === 'signalAllAcceptedCredentials' && call.allAcceptedCredentialIds.includes(id))
  await eventually(listed)
  assert.ok(listed())

  // Signed in with it, it goes by a call of the API: no page tells the authenticator what is left.
  await follow(page, 'form.out button')
  await open(page, '/ui/sign-in')
  await page.click('[data-passkey=get]')
  await atAccount(page)
  const held = await (await page.request.get(`${issuer}/v1/account/credentials`)).json()
  const key = held.items.find(({ kind }) => kind === 'passkey')
  const gone = await page.request.delete(`${issuer}/v1/account/credentials/${key.id}`, { headers: { origin: issuer } })
  assert.ok(gone.ok(), await gone.text())
  await follow(page, 'form.out button')
  assert.equal((await keys.credentials()).length, 1)

  await open(page, '/ui/sign-in')
  await page.click('[data-passkey=get]')
  await page.waitForSelector('#problem')
  const unknown = () => told.filter((call) => call.name === 'signalUnknownCredential')
  await eventually(() => unknown().length)
  assert.deepEqual(unknown(), [{ name: 'signalUnknownCredential', rpId: 'localhost', credentialId: id }])
  assert.deepEqual(await keys.credentials(), [])
  await visit.context.close()
})

test('2 the button ends the call that waits in the address field; so does a form', async () => {
  const visit = await visitor(one)
  const keys = await authenticator(visit)
  const { page } = visit
  const person = someone('Gil Nunes')
  await registered(visit, person)
  await follow(page, 'form.out button')
  const calls = []
  await visit.context.exposeBinding('called', (_, what) => calls.push(what))
  await page.addInitScript(() => {
    const get = navigator.credentials.get.bind(navigator.credentials)
    navigator.credentials.get = async (options) => {
      globalThis.called(options.mediation)
      try {
        return await get(options)
      } catch (error) {
        globalThis.called(error.name)
        throw error
      }
    }
  })
  const until = (count) => eventually(() => calls.length >= count)
  await keys.present(false)
  await open(page, '/ui/sign-in')
  await until(1)
  // The call is announced a moment before the authenticator hears of it.
  await sleep(1_000)
  await keys.present(true)
  await page.click('[data-passkey=get]')
  await atAccount(page)
  await until(3)
  assert.deepEqual(calls.sort(), ['AbortError', 'conditional', 'optional'])

  calls.length = 0
  await keys.present(false)
  await follow(page, 'form.out button')
  await open(page, '/ui/sign-in')
  await until(1)
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  assert.match(await page.innerText('h1'), /Check your e-mail/)
  assert.deepEqual(visit.reports, [])
  await visit.context.close()
})

test('2 a page that comes back from the history works', async () => {
  // As Chromium is for people: with its back/forward cache, which automation switches off.
  const browser = await launch({ ignoreDefaultArgs: ['--disable-back-forward-cache'] })
  const visit = await visitor({ browser })
  const { page } = visit
  const shown = []
  await visit.context.exposeBinding('shown', (_, persisted) => shown.push(persisted))
  await page.addInitScript(() => addEventListener('pageshow', (event) => globalThis.shown(event.persisted)))
  const session = await visit.context.newCDPSession(page)
  await session.send('Page.enable')
  const reasons = []
  session.on('Page.backForwardCacheNotUsed', ({ notRestoredExplanations }) => reasons.push(...notRestoredExplanations.map(({ reason }) => reason)))
  const site = await website()
  const person = someone('Hugo Dias')
  /** A page that was kept asks for itself anew: only then is it there. */
  const back = async () => {
    const before = shown.length
    await page.goBack()
    await eventually(() => shown.length > before + (shown[before] ? 1 : 0))
    await page.waitForLoadState()
  }
  for (const path of ['/ui/sign-in', '/ui/register']) {
    await open(page, path)
    const at = page.url()
    await page.goto(`http://127.0.0.1:${site.port}/`)
    await back()
    assert.equal(page.url(), at)
  }
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  assert.match(await page.innerText('h1'), /Check your e-mail/)

  // Back to a step that is over: the page says so and goes on from where things stand.
  const { code } = await mailed(person.address)
  await back()
  if (await page.locator('#identifier').count()) {
    await page.fill('#identifier', person.address)
    await press(page, 'email_code/send')
  }
  assert.match(await page.innerText('h1'), /Check your e-mail/)
  await enter(visit, code, 'email_code/check')
  assert.match(await page.innerText('h1'), /What should we call you/)
  assert.deepEqual(visit.reports, [])
  assert.ok(shown.includes(true), `never restored: ${reasons.join(' ')}`)
  console.log(`# restored from the cache: ${shown.filter(Boolean).length} times; otherwise because of ${[...new Set(reasons)].join(' ')}`)
  site.close()
  await browser.close()
})
