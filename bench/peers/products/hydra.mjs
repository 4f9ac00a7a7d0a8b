// Ory Hydra on PostgreSQL, behind a proxy that ends TLS. Settings and where they come from: ../README.md.

import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ALGORITHM, PORTS, REDIRECT, SCOPE } from '../lib/constants.mjs'
import { Browser, JSON_TYPE, codeIn, form, forwarded, must, pkce } from '../lib/http.mjs'

const VERSION = '2.3.0'
// Its own benchmark (oauth2_auth_code_bench_test.go) says 20; see ../README.md for why that cannot be used here.
const POOL = 160

export class Hydra {
  key = 'hydra'
  name = 'Ory Hydra'
  version = VERSION
  host = 'hydra.example.org'
  port = PORTS.product(1)
  adminPort = PORTS.product(1) + 1
  readyPort = this.adminPort
  readyPath = '/health/ready'
  discoveryPath = '/.well-known/openid-configuration'
  tokenPath = '/oauth2/token'
  redirectUri = REDIRECT

  constructor(context) {
    this.context = context
    this.binary = `${context.cache}/hydra-${VERSION}/hydra`
  }

  installed() {
    return existsSync(this.binary)
  }

  /** The command of the released module that hydra/go.mod pins, from the Go module registry. */
  install() {
    const cwd = fileURLToPath(new URL('../hydra', import.meta.url))
    const version = `-X github.com/ory/hydra/v2/driver/config.Version=v${VERSION}`
    execFileSync('go', ['build', '-mod=readonly', '-ldflags', `-s -w ${version}`, '-o', this.binary, '.'], { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
  }

  prepare(database) {
    this.config = `${this.context.scratch}/${this.key}.json`
    const closed = { allow_termination_from: ['127.0.0.1/32'] }
    writeFileSync(this.config, JSON.stringify({
      dsn: `${database.url}?sslmode=disable&max_conns=${POOL}&max_idle_conns=${POOL}`,
      serve: {
        public: { host: '127.0.0.1', port: this.port, tls: closed },
        admin: { host: '127.0.0.1', port: this.adminPort, tls: closed },
      },
      urls: { self: { issuer: `https://${this.host}` }, login: 'https://login.example.org/login', consent: 'https://login.example.org/consent' },
      strategies: { access_token: 'jwt' },
      oauth2: { pkce: { enforced: true }, ...this.hashing() },
      secrets: { system: ['peers-system-secret-of-32-letters'], cookie: ['peers-cookie-secret-of-32-letters'] },
    }))
    execFileSync(this.binary, ['migrate', 'sql', '-e', '--yes', '-c', this.config], { env: { DSN: `${database.url}?sslmode=disable`, HOME: process.env.HOME }, stdio: ['ignore', 'ignore', 'pipe'] })
  }

  hashing() {
    return {}
  }

  command() {
    return { program: this.binary, words: ['serve', 'all', '-c', this.config], env: { SQA_OPT_OUT: 'true' } }
  }

  async setup() {
    await this.#admin('POST', '/admin/keys/hydra.jwt.access-token', { alg: ALGORITHM, use: 'sig', kid: 'peers' })
    const client = (await this.#admin('POST', '/admin/clients', {
      client_name: 'Peers', redirect_uris: [REDIRECT], response_types: ['code'], scope: `${SCOPE} offline_access`, skip_consent: true,
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials'], token_endpoint_auth_method: 'client_secret_basic',
    })).json()
    return { client: { id: client.client_id, secret: client.client_secret } }
  }

  scopeFields() {
    return { scope: SCOPE }
  }

  resourceFields() {
    return {}
  }

  /** Whom the login application remembers is decided at each request for a code. */
  session(number) {
    return new Browser(this.port, this.host, number)
  }

  async code(browser, client) {
    const { verifier, challenge } = pkce()
    // `offline_access` is what makes Hydra give a refresh token.
    const query = form({ response_type: 'code', client_id: client.id, redirect_uri: REDIRECT, scope: `${SCOPE} offline_access`, state: 'state-of-eight', code_challenge: challenge, code_challenge_method: 'S256' })
    let next = await this.#redirected(new Browser(this.port, this.host, browser.number), `/oauth2/auth?${query}`)
    next = await this.#accept('login', next, { subject: `person${browser.number}` })
    next = await this.#redirected(next.browser, next.to)
    next = await this.#accept('consent', next, { grant_scope: [SCOPE, 'offline_access'] })
    next = await this.#redirected(next.browser, next.to)
    return { code: codeIn(next.to), verifier }
  }

  introspection() {
    return { path: '/admin/oauth2/introspect', port: this.adminPort, headers: {} }
  }

  async #redirected(browser, address) {
    const answer = await browser.go('GET', address)
    if (!answer.headers.location) throw new Error(`${address}: ${answer.status} ${answer.text.slice(0, 300)}`)
    return { browser, to: answer.headers.location }
  }

  async #accept(what, { browser, to }, body) {
    const challenge = new URL(to).searchParams.get(`${what}_challenge`)
    if (!challenge) throw new Error(`no ${what}_challenge in ${to}`)
    const answer = await this.#admin('PUT', `/admin/oauth2/auth/requests/${what}/accept?${form({ [`${what}_challenge`]: challenge })}`, body)
    return { browser, to: answer.json().redirect_to }
  }

  #admin(method, path, body) {
    return must(this.adminPort, method, path, { headers: { ...forwarded(this.host), ...JSON_TYPE }, body: JSON.stringify(body) })
  }
}

/** The same with the cheapest hash of client secrets it can be set to: how much of its time goes there. */
export class HydraCheapHash extends Hydra {
  key = 'hydra-cheap-hash'
  name = 'Ory Hydra, PBKDF2 with 1 iteration'
  extra = true

  hashing() {
    return { hashers: { algorithm: 'pbkdf2', pbkdf2: { iterations: 1 } } }
  }
}
