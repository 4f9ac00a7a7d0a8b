// Porteiro in production mode, behind a proxy that ends TLS (README.md, "In production"; docs/operations.md).

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ALGORITHM, API, PORTS, REDIRECT, SCOPE } from '../lib/constants.mjs'
import { Browser, JSON_TYPE, basic, codeIn, form, pkce } from '../lib/http.mjs'

export class Porteiro {
  key = 'porteiro'
  name = 'Porteiro'
  host = 'id.example.org'
  port = PORTS.product(0)
  readyPath = '/readyz'
  discoveryPath = '/.well-known/openid-configuration'
  tokenPath = '/connect/token'
  redirectUri = REDIRECT

  constructor(context) {
    this.context = context
    this.binary = process.env.PORTEIRO_BINARY
  }

  installed() {
    return existsSync(this.binary ?? '')
  }

  get version() {
    // The commit is the binary's own word (BUILD_COMMIT, when it was built): the checkout may be another.
    return execFileSync(this.binary, ['--version'], { encoding: 'utf8' }).trim().replace(/^\S+ /, '')
  }

  #settings() {
    const { scratch, mail } = this.context
    return {
      PORTEIRO_DATABASE_URL: this.database.url,
      PORTEIRO_BASE_URL: `https://${this.host}`,
      PORTEIRO_LISTEN: `127.0.0.1:${this.port}`,
      PORTEIRO_MASTER_KEY_FILE: `${scratch}/master.key`,
      PORTEIRO_TRUSTED_PROXIES: '127.0.0.1/32',
      PORTEIRO_SMTP_URL: mail.url,
      PORTEIRO_SMTP_CA_FILE: mail.ca,
      PORTEIRO_MAIL_FROM: 'Peers <no-reply@example.org>',
      // How the people of this comparison come to be; neither is on a measured path.
      PORTEIRO_REGISTRATION: 'open',
      PORTEIRO_BREACHED_PASSWORD_CHECK: 'false',
    }
  }

  #command(...words) {
    return execFileSync(this.binary, words, { env: this.#settings(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  }

  prepare(database) {
    this.database = database
    this.#command('migrate')
    this.#command('keys', 'generate', '--create-master-key')
  }

  command() {
    return { program: this.binary, words: ['serve'], env: this.#settings() }
  }

  setup() {
    const { scratch } = this.context
    const file = (name, value) => {
      writeFileSync(`${scratch}/${name}`, JSON.stringify(value))
      return `${scratch}/${name}`
    }
    const text = { en: 'Read invoices', pt: 'Ler faturas' }
    this.#command('apis', 'register', file('api.json', { identifier: API, name: 'Ledger', algorithm: ALGORITHM, scopes: [{ name: SCOPE, description: text }] }))
    const said = this.#command('clients', 'create', '--trust', 'first_party', file('client.json', {
      client_name: 'Peers', redirect_uris: [REDIRECT], response_types: ['code'], token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials'], scope: SCOPE,
    }))
    return { client: { id: /client_id +(\S+)/.exec(said)[1], secret: /client_secret +(\S+)/.exec(said)[1] } }
  }

  scopeFields() {
    return { scope: SCOPE }
  }

  resourceFields() {
    return {}
  }

  /** Somebody who registers with a mailed code and a password, and is signed in then. */
  async session(number) {
    const browser = new Browser(this.port, this.host, number)
    const address = `person${number}@example.org`
    await this.#walk(browser, await this.#call(browser, 'POST', '/v1/flows', { kind: 'register' }), {
      'email_code/check': async () => ({ code: await this.#mailed(address) }),
      'email_code/send': () => ({ identifier: address }),
      'profile/set': () => ({ display_name: `Person ${number}` }),
      'password/set': () => ({ new_password: `${number} herons by the river` }),
      'enrol/skip': () => ({}),
    })
    return browser
  }

  async code(browser, client) {
    const { verifier, challenge } = pkce()
    const query = form({ response_type: 'code', client_id: client.id, redirect_uri: REDIRECT, scope: SCOPE, state: 's', code_challenge: challenge, code_challenge_method: 'S256' })
    const done = await this.#walk(browser, await this.#call(browser, 'GET', `/connect/authorize?${query}`), { 'consent/allow': () => ({}), 'enrol/skip': () => ({}) })
    return { code: codeIn(done.continue.uri), verifier }
  }

  introspection(client) {
    return { path: '/connect/introspect', headers: basic(client.id, client.secret) }
  }

  async #walk(browser, flow, answers) {
    while (flow.actions?.length) {
      const name = Object.keys(answers).find((name) => flow.actions.some((action) => action.name === name))
      if (!name) throw new Error(`at ${flow.stage} nothing of ${flow.actions.map((action) => action.name)} is for us`)
      flow = await this.#call(browser, 'POST', `/v1/flows/${flow.id}/${name}`, { ...(await answers[name]()), step: flow.step })
    }
    return flow
  }

  async #call(browser, method, address, body) {
    const headers = { accept: 'application/json', origin: `https://${this.host}`, ...(body && JSON_TYPE) }
    const answer = await browser.go(method, address, { headers, body: body && JSON.stringify(body) })
    if (answer.status >= 300) throw new Error(`${method} ${address}: ${answer.status} ${answer.text.slice(0, 500)}`)
    return answer.json()
  }

  async #mailed(address) {
    const folder = `${this.context.mail.maildir}/new`
    for (let tries = 0; tries < 300; tries += 1) {
      for (const name of readdirSync(folder)) {
        if (this.read?.has(name)) continue
        const text = readFileSync(`${folder}/${name}`, 'utf8')
        const to = /^Envelope-to: (\S+)/mi.exec(text)?.[1]
        const code = /^Subject: *(\d{6})/mi.exec(text)?.[1]
        ;(this.read ??= new Map()).set(name, { to, code })
      }
      const found = [...(this.read?.values() ?? [])].find((mail) => mail.to === address && mail.code)
      if (found) return found.code
      await sleep(50)
    }
    throw new Error(`no mail to ${address}`)
  }
}
