// To an app and back: groups 4 and 11, and the form that posts itself.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer as createSecureServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { enter, follow, issuer, mailed, open, press, request, shared, someone, stranger, visitor, website } from '../lib.mjs'
import { register } from '../walk.mjs'

const one = shared(before, after)

/** Through consent, and away. */
const allow = async (page) => {
  await page.waitForSelector('button[value="consent/allow"]:enabled')
  await page.click('button[value="consent/allow"]')
}

const coded = (url) => {
  const answer = new URL(url).searchParams
  assert.ok(answer.get('code') && !answer.get('error'), url)
  assert.equal(answer.get('state'), 'the-state')
}

test('4 sign-in, consent and back: loopback with a port, https with hops of its own, a private scheme', async () => {
  const visit = await visitor(one, { ignoreHTTPSErrors: true })
  const { page } = visit
  await register(visit, someone('Ines Prado'))

  // RFC 8252, 7.3: registered without a port, asked for with one.
  const local = await website()
  const native = await stranger('http://127.0.0.1/callback', { application_type: 'native' })
  await open(page, request({ ...native, redirect_uri: `http://127.0.0.1:${local.port}/callback` }))
  await allow(page)
  await page.waitForURL(`http://127.0.0.1:${local.port}/callback?**`)
  coded(page.url())

  // A client on https that goes on to two more places: none of that is held to our form-action.
  const folder = await mkdtemp(join(tmpdir(), 'porteiro-https-'))
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', join(folder, 'key'), '-out', join(folder, 'certificate')], { stdio: 'ignore' })
  const options = { key: await readFile(join(folder, 'key')), cert: await readFile(join(folder, 'certificate')) }
  const home = await website()
  const secure = await website(
    (url) => (url.startsWith('/callback') ? `http://127.0.0.1:${home.port}/hop?${url.split('?')[1]}` : '<title>App</title>'),
    (handler) => createSecureServer(options, handler),
  )
  const web = await stranger(`https://localhost:${secure.port}/callback`)
  await open(page, request(web))
  await allow(page)
  await page.waitForURL(`http://127.0.0.1:${home.port}/hop?**`)
  coded(page.url())
  coded(new URL(secure.seen.find(({ url }) => url.startsWith('/callback')).url, issuer).href)

  // An app's own scheme: nothing here can open it, but the browser is asked to.
  const app = await stranger('com.example.ledger:/callback', { application_type: 'native' })
  const session = await visit.context.newCDPSession(page)
  await session.send('Page.enable')
  const asked = new Promise((resolve) =>
    session.on('Page.frameRequestedNavigation', ({ url, reason }) => url.startsWith('com.example.ledger:') && resolve({ url, reason })),
  )
  await open(page, request(app))
  await allow(page)
  const { url, reason } = await asked
  assert.equal(reason, 'metaTagRefresh')
  coded(url)
  assert.equal(await page.getAttribute('a.button.primary', 'href'), url)

  assert.deepEqual(visit.reports, [])
  for (const site of [local, home, secure]) site.close()
  await rm(folder, { recursive: true })
  await visit.context.close()
})

for (const script of [true, false]) {
  test(`4 an answer by form_post, ${script ? 'by itself' : 'by hand, without script'}`, async () => {
    const visit = await visitor(one, { script })
    const { page } = visit
    await register(visit, someone('Joana Reis'))
    const site = await website()
    const client = await stranger(`http://127.0.0.1:${site.port}/callback`)
    await open(page, request(client, { response_mode: 'form_post' }))
    await allow(page)
    if (!script) {
      await page.waitForSelector('form[action^="http://127.0.0.1"]')
      await page.click('form[action^="http://127.0.0.1"] button')
    }
    await page.waitForURL(`http://127.0.0.1:${site.port}/callback`)
    const posted = site.seen.find(({ method }) => method === 'POST')
    const answer = new URLSearchParams(posted.body)
    assert.ok(answer.get('code') && answer.get('state') === 'the-state', posted.body)
    assert.deepEqual(visit.reports, [])
    site.close()
    await visit.context.close()
  })
}

test('4 an app on another site signs out, and in, by forms: who is signed in is seen', async () => {
  const visit = await visitor(one)
  const { page } = visit
  await register(visit, someone('Rita Braga'))
  const site = await website((url) => {
    const [path, query] = url.split('?')
    if (path === '/callback') return '<title>App</title>'
    const fields = [...new URLSearchParams(query)].map(([name, value]) => `<input name="${name}" value="${value}">`)
    return `<form method="post" action="${issuer}${path}">${fields.join('')}<button>go</button></form>`
  })
  const posted = async (path) => {
    await page.goto(`http://127.0.0.1:${site.port}${path}`)
    await follow(page, 'button')
  }
  const client = await stranger(`http://127.0.0.1:${site.port}/callback`)
  await posted(request(client))
  assert.equal(await page.locator('button[value="consent/allow"]').count(), 1, 'nobody signs in twice')
  await posted('/connect/logout')
  assert.match(await page.innerText('h1'), /Sign out\?/)
  await follow(page, 'main form button')
  assert.match(await page.innerText('h1'), /You are signed out/)
  assert.deepEqual(visit.reports, [])
  site.close()
  await visit.context.close()
})

test('11 no page of ours is shown inside another', async () => {
  const visit = await visitor(one)
  const { page } = visit
  await register(visit, someone('Lia Castro'))
  const paths = ['/ui/sign-in', '/ui/register', '/ui/recover', '/ui/link', '/ui/invitation', '/nowhere', '/o/nowhere', '/connect/logout', '/connect/authorize?client_id=nobody']
  for (const name of ['security', 'sessions', 'apps', 'keys', 'organizations', 'activity']) paths.push(`/ui/account/${name}`)
  const site = await website(() => paths.map((path) => `<iframe src="${issuer}${path}"></iframe>`).join(''))
  await page.goto(`http://127.0.0.1:${site.port}/`)
  const frames = page.frames().slice(1)
  assert.equal(frames.length, paths.length)
  for (const frame of frames) assert.equal(await frame.locator('main').count(), 0)
  // A frame that may be shown is: the check would notice.
  const shown = await website(() => '<main>shown</main>')
  const around = await website(() => `<iframe src="http://127.0.0.1:${shown.port}/"></iframe>`)
  await page.goto(`http://127.0.0.1:${around.port}/`)
  assert.equal(await page.frames()[1].locator('main').count(), 1)
  for (const web of [site, shown, around]) web.close()
  await visit.context.close()
})

test('11 a window that opened an account page has no hand on it; signing in through a pop-up works', async () => {
  const visit = await visitor(one)
  const { page } = visit
  const site = await website((url) =>
    url.startsWith('/callback')
      ? '<script>opener.postMessage(location.search, location.origin); close()</script>'
      : '<title>App</title><button onclick="globalThis.opened = window.open(document.body.dataset.to)">open</button><script>onmessage = (event) => (document.title = event.data)</script>',
  )
  const client = await stranger(`http://127.0.0.1:${site.port}/callback`)
  const through = async (to) => {
    await page.evaluate((to) => (document.body.dataset.to = to), to)
    const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('button')])
    await popup.waitForLoadState()
    return popup
  }
  await page.goto(`http://127.0.0.1:${site.port}/`)

  const popup = await through(new URL(request(client), issuer).href)
  assert.equal(await popup.evaluate(() => opener !== null), true, 'the client may wait for its pop-up')
  const person = someone('Mauro Pinto')
  await popup.fill('#identifier', person.address)
  await press(popup, 'email_code/send')
  await enter({ page: popup, script: true }, (await mailed(person.address)).code, 'email_code/check')
  await popup.fill('#display_name', person.name)
  await press(popup, 'profile/set')
  await press(popup, 'enrol/skip')
  await allow(popup)
  await page.waitForFunction(() => document.title.startsWith('?'))
  coded(new URL(await page.title(), issuer).href)

  for (const name of ['security', 'apps', 'keys']) {
    const account = await through(new URL(`/ui/account/${name}`, issuer).href)
    assert.equal(new URL(account.url()).pathname, `/ui/account/${name}`)
    assert.equal(await account.evaluate(() => opener), null)
    assert.equal(await page.evaluate(() => globalThis.opened.closed), true, 'to the app it looks closed')
    await account.close()
  }
  assert.deepEqual(visit.reports, [])
  site.close()
  await visit.context.close()
})
