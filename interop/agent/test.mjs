// A person, their agent and their invoices, in a real browser. interop/run runs it.
//
// PORTEIRO_SHOTS names a folder for pictures of what the person sees, in both languages.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { importJWK, jwtVerify } from 'jose'
import { start } from '../lib/app.mjs'
import { issuer, launch, newcomer, signIn, withdraw } from '../lib/browser.mjs'
import { createClient, registerApi } from '../lib/operator.mjs'
import { origin, serve } from '../lib/site.mjs'

/** An address of this machine where nothing listens. */
async function address() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return `http://127.0.0.1:${port}`
}

describe('an agent that asks before it pays', () => {
  const shots = process.env.PORTEIRO_SHOTS
  let urls, ledger, agent, running, browser, page, desk, person

  /** The file of the example, with the addresses of this run. */
  const file = async (name) => {
    const known = [urls.LEDGER_URL, urls.AGENT_URL, urls.APP_URL].map((to, at) => [`http://127.0.0.1:400${at + 1}`, to])
    if (ledger) known.push(['LEDGER_CLIENT_ID', ledger.client_id])
    const text = known.reduce((text, [from, to]) => text.replaceAll(from, to), await readFile(name, 'utf8'))
    return JSON.parse(text)
  }
  const program = (name, env = {}) =>
    start(process.execPath, [`${name}.mjs`], { ...urls, ISSUER: issuer, ...env }, urls[`${name.toUpperCase()}_URL`])
  const secrets = ({ client_id, client_secret }) => ({ CLIENT_ID: client_id, CLIENT_SECRET: client_secret })

  before(async () => {
    urls = { LEDGER_URL: await address(), AGENT_URL: await address(), APP_URL: await address() }
    ledger = await createClient(await file('ledger-client.json'))
    await registerApi(await file('ledger.json'))
    const app = await createClient(await file('app.json'))
    agent = await createClient(await file('agent.json'))
    running = [
      await program('ledger', secrets(ledger)),
      await program('agent', secrets(agent)),
      await program('app', secrets(app)),
    ]
    browser = await launch()
    ;({ page, person } = await newcomer(browser, 'Ana Souza', 'passkey'))
    // Another tab, in which the application stays open.
    desk = await page.context().newPage()
  })
  after(async () => {
    await browser?.close()
    for (const one of running ?? []) await one.stop()
  })
  const step = (name, doing) =>
    test(name, { timeout: 60_000 }, async () => {
      try {
        await doing()
      } catch (error) {
        error.message += `\nat ${page?.url()}\n${await page?.innerText('body').catch(() => '')}\n${running?.map((one) => one.said())}`
        throw error
      }
    })
  const inbox = () => page.goto(`${issuer}/ui/account/approvals`)
  const said = (text) => desk.waitForSelector(`.said:has-text("${text}")`)
  const press = (action) =>
    Promise.all([page.waitForNavigation(), page.locator(`button[name=action][value="${action}"]`).first().click()])

  /** What the person sees now, in Portuguese and in English, for somebody who looks at pictures. */
  async function picture(name) {
    if (!shots) return
    await mkdir(shots, { recursive: true })
    const again = await page.context().newPage()
    for (const lang of ['pt', 'en']) {
      const url = new URL(page.url())
      url.searchParams.set('lang', lang)
      await again.goto(url.href)
      await again.screenshot({ path: `${shots}/${name}.${lang}.png`, fullPage: true })
    }
    await again.close()
  }

  /** Hands an invoice to the agent, and gives back the number that the agent shows. */
  async function handed(invoice) {
    await desk.goto(urls.APP_URL)
    await desk.click(`button[value="${invoice}"]`)
    await desk.waitForSelector('#number')
    if (shots) await desk.screenshot({ path: `${shots}/agent-asks-${invoice}.png` })
    return desk.innerText('#number')
  }

  step('a person signs in, and connects their agent by consent', async () => {
    await page.goto(`${urls.APP_URL}/sign-in`)
    await signIn(page, person)
    assert.match(await page.innerText('body'), /Padaria Bela Vista, 42\.00 EUR/)
    await page.click('text=Connect my agent')
    await page.waitForSelector('button[value="consent/allow"]')
    assert.match(await page.innerText('main'), /Paperwork agent[^]*See your invoices/)
    await picture('consent')
    await signIn(page, person)
    assert.equal(page.url(), `${urls.APP_URL}/`)
  })

  step('the agent reads by delegation, asks for one payment, and makes it when that was approved', async () => {
    const number = await handed('7')
    await said('I read your 3 invoices')
    await inbox()
    const shown = await page.innerText('main')
    assert.match(shown, /Paperwork agent[^]*Pay 42\.00 EUR to Padaria Bela Vista for invoice 7[^]*Invoice 7/)
    assert.equal(await page.locator('button[value^="approve-"]').count(), 3)
    await picture('pending')
    await press(`approve-${number}`)
    await picture('approved')
    await said('I paid invoice 7')
    await inbox()
    await picture('used')
    await desk.goto(urls.APP_URL)
    assert.match(await desk.innerText('body'), /Padaria Bela Vista, 42\.00 EUR paid[^]*Northwind Power, 118\.50 EUR Let my agent pay/)
  })

  step('her browser is told that something waits, by an empty message that any push service can verify', async () => {
    const heard = []
    const { stop } = await serve(async (request, response) => {
      let body = ''
      for await (const part of request) body += part
      heard.push({ ...request.headers, path: request.url, body })
      response.writeHead(201, { connection: 'close' }).end()
    })
    try {
      const told = `${issuer}/v1/account/push-subscriptions`
      const options = { data: { endpoint: `${origin}/push/ana` }, headers: { origin: issuer } }
      const made = await page.request.post(told, options)
      assert.equal(made.status(), 201, await made.text())
      await handed('8')
      for (let tries = 0; tries < 200 && !heard.length; tries += 1) await sleep(100)
      const { authorization, ttl, path, body } = heard[0]
      assert.deepEqual([path, body, Number(ttl) > 0], ['/push/ana', '', true])
      const [, token, key] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization)
      const { public_key } = await (await page.request.get(told)).json()
      assert.equal(key, public_key)
      // RFC 8292 §3.2: an uncompressed point.
      const point = Buffer.from(key, 'base64url')
      const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
      const verifying = await importJWK({ kty: 'EC', crv: 'P-256', x, y }, 'ES256')
      const { payload } = await jwtVerify(token, verifying, { audience: origin, algorithms: ['ES256'] })
      assert.equal(payload.sub, issuer)
      assert.ok(payload.exp * 1000 < Date.now() + 86_400_000)
      await inbox()
      await press('deny')
      await said('You said no')
    } finally {
      stop()
    }
  })

  step('the ledger takes an approval for exactly what it says, and once', async () => {
    const basic = Buffer.from(`${agent.client_id}:${agent.client_secret}`).toString('base64')
    const send = async (path, form) => {
      const headers = { authorization: `Basic ${basic}` }
      return (await fetch(`${issuer}${path}`, { method: 'POST', headers, body: new URLSearchParams(form) })).json()
    }
    const pay = async (invoice, token) => {
      const headers = { authorization: `Bearer ${token}` }
      const response = await fetch(`${urls.LEDGER_URL}/invoices/${invoice}/payment`, { method: 'POST', headers })
      return [response.status, /error="(\w+)"/.exec(response.headers.get('www-authenticate'))?.[1]]
    }
    const { id: login_hint } = await (await page.request.get(`${issuer}/v1/account`)).json()
    const payment = { type: 'payment', invoice: '8', amount: '118.50', currency: 'EUR', to: 'Northwind Power' }
    const authorization_details = JSON.stringify([payment])
    const wanted = { scope: 'openid', resource: `${urls.LEDGER_URL}/`, login_hint, authorization_details }
    const { auth_req_id, approval_number } = await send('/connect/ciba', wanted)
    await inbox()
    await press(`approve-${approval_number}`)
    const { access_token } = await send('/connect/token', { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id })
    assert.deepEqual(await pay('9', access_token), [401, 'insufficient_authorization'])
    assert.deepEqual(await pay('8', access_token), [200, undefined])
    assert.deepEqual(await pay('8', access_token), [401, 'invalid_token'])
  })

  step('who says that they did not want this is heard: nothing is paid, and the agent may not ask again', async () => {
    await handed('9')
    await inbox()
    await press('report')
    await picture('reported')
    await said('You said no')
    await desk.goto(urls.APP_URL)
    assert.match(await desk.innerText('body'), /Costa & Filhos, 1250\.00 EUR Let my agent pay/)
    await desk.click('button[value="9"]')
    await said('You said no')
    await inbox()
    assert.equal(await page.locator('button[value^="approve-"]').count(), 0)
  })

  step('what the person takes back ends at once: the agent reads nothing any more', async () => {
    await page.goto(`${issuer}/ui/account/apps`)
    await picture('apps')
    await withdraw(page)
    await page.goto(`${urls.APP_URL}/sign-in`)
    await signIn(page, person)
    await desk.goto(urls.APP_URL)
    await desk.click('button[value="9"]')
    await said('It did not work')
  })
})
