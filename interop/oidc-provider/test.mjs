// A directory that breaks the rules: every sign-in is refused, with a cause that the operator reads in the log.
// interop/run runs it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { after, before, describe, test } from 'node:test'
import { launch, signIn } from '../lib/browser.mjs'
import { directoryPort, rejections } from '../lib/directory.mjs'
import { platformKey } from '../lib/operator.mjs'
import { call, found, join } from '../lib/organization.mjs'
import { application, claims } from '../lib/relying.mjs'
import { documents, newcomers, signIns } from './faults.mjs'
import { ecKey, provider, rsaKey } from './provider.mjs'

const client = { client_id: 'porteiro', client_secret: 'a-secret-that-the-provider-made' }
const [key, other] = [rsaKey('one'), ecKey('two')]
const [honest, twin] = ['localhost', '127.0.0.1'].map((host) => `https://${host}:${directoryPort}`)

describe('a directory that misbehaves (oidc-provider)', () => {
  let browser, app, place, log, page, person, providers, connections, server, sub
  const connect = (issuer, name) => {
    const definition = { name, issuer, ...client, client_authentication: 'client_secret_post', algorithm: 'RS256', jit_role: 'member' }
    return place.manage('POST', '/connections', definition)
  }
  const serve = async () => {
    const [key, cert] = await Promise.all(['tls.key', 'tls.pem'].map((file) => readFile(`${process.env.PORTEIRO_TLS}/${file}`)))
    server = createServer({ key, cert }, (request, response) => providers[`https://${request.headers.host}`].handle(request, response))
    await once(server.listen(directoryPort, '127.0.0.1'), 'listening')
  }
  /** Sends the person to a directory, where they are signed in. */
  const go = async (request, at = honest) => {
    await page.goto(request.url)
    await page.click(`form:has(input[name=connection][value="${connections[at].id}"]) button[value="federated/begin"]`)
  }
  const ask = (more) => app.ask({ organization: place.slug, ...more })

  before(async () => {
    browser = await launch()
    app = await application()
    log = await platformKey('platform.log:read')
    place = await found(browser)
    ;({ page, person } = await join(browser, place, 'Ana Souza'))
    connections = { [honest]: await connect(honest, 'Acme directory'), [twin]: await connect(twin, 'Mallory') }
    const made = (issuer, subject) =>
      provider({ issuer, ...client, redirect_uri: connections[issuer].redirect_uri, subject, key, others: [other] })
    providers = { [honest]: made(honest, 'ana-there'), [twin]: made(twin, 'mallory-there') }
    await serve()
  })
  after(async () => {
    await browser?.close()
    app?.stop()
    server?.closeAllConnections()
    server?.close()
  })

  /** The cause in the log of the refusal that the person just saw. */
  const cause = async (began) => {
    const query = new URLSearchParams({ kind: 'proof.refused', from: began.toISOString(), to: new Date(Date.now() + 60_000).toISOString() })
    const { items } = await call(log, 'GET', `/v1/platform/security-log?${query}`)
    return items.map(({ payload }) => payload.reason)
  }
  const refused = async (fault, at = honest) => {
    const began = new Date()
    providers[at].fault = fault
    try {
      await go(ask(), at)
      await page.waitForSelector('text=That did not sign you in')
    } catch (error) {
      error.message += `\nat ${page.url()}\n${await page.innerText('body').catch(() => '')}`
      throw error
    } finally {
      providers[at].fault = {}
    }
    return cause(began)
  }
  /** Signs in by the honest directory that behaves. */
  const welcomed = async () => {
    const request = ask({ prompt: 'consent' })
    await go(request)
    await page.waitForSelector('button[value="consent/allow"], button[value="claim/existing"]')
    const steps = await signIn(page, person)
    return { steps, said: claims((await app.redeemed(page, request)).id_token) }
  }

  test('as long as it behaves, a member links the identity and signs in', { timeout: 60_000 }, async () => {
    const { steps, said } = await welcomed()
    assert.ok(steps.includes('claim/attach'), `${steps}`)
    sub = said.sub
    await page.context().clearCookies()
    assert.deepEqual((await welcomed()).steps, ['consent/allow'])
    await page.context().clearCookies()
  })

  for (const [name, fault, expected] of signIns(key, other, client.client_id)) {
    test(`refused: ${name}`, { timeout: 60_000 }, async () => assert.deepEqual(await refused(fault), [expected]))
  }

  test('refused: a mix-up, in which the answer arrives at the address of another connection', { timeout: 60_000 }, async () => {
    const before = [providers[honest].redeemed, providers[twin].redeemed]
    const elsewhere = { answer: (url) => new URL(connections[honest].redirect_uri + url.search) }
    assert.deepEqual(await refused(elsewhere, twin), ['the answer arrived at the address of another connection'])
    assert.deepEqual([providers[honest].redeemed, providers[twin].redeemed], before, 'no code is sent to either')
  })

  for (const [name, fault, words] of newcomers(key)) {
    test(`nobody joins: ${name}`, { timeout: 60_000 }, async () => {
      providers[twin].fault = fault
      await go(ask(), twin)
      await page.waitForSelector('text=/That did not sign you in|You need an account that is already a member/')
      providers[twin].fault = {}
      assert.deepEqual(await page.locator('button[value="claim/new"]').count(), 0)
      assert.match((await rejections(place))[0], words)
    })
  }

  for (const [name, fault, step, words] of documents(honest)) {
    test(`explained by the connection test: ${name}`, { timeout: 60_000 }, async () => {
      providers[honest].fault = fault
      const { ok, steps } = await place.manage('POST', `/connections/${connections[honest].id}/test`)
      providers[honest].fault = {}
      const last = steps.at(-1)
      assert.equal(ok, false, JSON.stringify(steps))
      assert.match(last.step, new RegExp(`^(${step})$`))
      assert.match(last.explanation, words)
    })
  }

  test('a wrong client secret is refused, and named', { timeout: 60_000 }, async () => {
    const path = `/connections/${connections[honest].id}`
    const { etag, id, redirect_uri, backchannel_logout_uri, jwks_uri, ...now } = await place.manage('GET', path)
    const changed = await place.manage('PUT', path, { ...now, client_secret: 'wrong' }, { 'if-match': etag })
    assert.deepEqual(await refused({}), ['the provider did not exchange the code'])
    await place.manage('PUT', path, { ...now, client_secret: client.client_secret }, { 'if-match': changed.etag })
  })

  test('afterwards the member signs in as before, and nobody was locked out', { timeout: 60_000 }, async () => {
    assert.equal((await welcomed()).said.sub, sub)
  })
})
