// node-oidc-provider with our PostgreSQL adapter and one process for each core. Settings: ../README.md.

import { generateKeyPairSync } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ALGORITHM, API, PORTS, REDIRECT, SCOPE } from '../lib/constants.mjs'
import { Browser, basic, codeIn, form, pkce } from '../lib/http.mjs'

const SOURCE = fileURLToPath(new URL('../node-oidc-provider', import.meta.url))
const PACKAGE = JSON.parse(readFileSync(`${SOURCE}/package.json`))
const VERSION = PACKAGE.dependencies['oidc-provider']
// It wants a newer Node.js than Debian has; the registry has that as a package.
const NODE = `node-linux-${process.arch}`

export class NodeOidcProvider {
  key = 'node-oidc-provider'
  name = 'node-oidc-provider'
  version = `${VERSION}, Node.js ${PACKAGE.optionalDependencies[NODE]}`
  host = 'node.example.org'
  port = PORTS.product(2)
  readyPath = '/ready'
  discoveryPath = '/.well-known/openid-configuration'
  tokenPath = '/token'
  redirectUri = REDIRECT
  // "oidc-provider API documentation", Resource Server: JWT access tokens are not stored, so they cannot be introspected.
  introspectsAccessTokens = false

  constructor(context) {
    this.context = context
    this.folder = `${context.cache}/node-oidc-provider-${VERSION}`
  }

  installed() {
    return existsSync(`${this.folder}/node_modules/${NODE}/bin/node`)
  }

  install() {
    const fresh = `${this.folder}.new`
    rmSync(fresh, { recursive: true, force: true })
    mkdirSync(fresh, { recursive: true })
    for (const name of ['package.json', 'package-lock.json']) cpSync(`${SOURCE}/${name}`, `${fresh}/${name}`)
    execFileSync('npm', ['ci', '--loglevel=error', '--no-fund', '--no-audit'], { cwd: fresh, stdio: ['ignore', 'ignore', 'inherit'] })
    renameSync(fresh, this.folder)
  }

  prepare(database) {
    for (const name of ['server.mjs', 'adapter.mjs']) cpSync(`${SOURCE}/${name}`, `${this.folder}/${name}`)
    const [type, options] = ALGORITHM === 'ES256' ? ['ec', { namedCurve: 'P-256' }] : ['rsa', { modulusLength: 2048 }]
    const key = generateKeyPairSync(type, options).privateKey.export({ format: 'jwk' })
    // The ID token's own algorithm is RS256 unless a client says otherwise; the key must exist.
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })
    this.client = { id: 'peers', secret: 'a-secret-of-the-comparison-that-is-long', redirect_uris: [REDIRECT] }
    this.settings = {
      issuer: `https://${this.host}`, port: this.port, database: database.url, client: this.client, api: API, scope: SCOPE, algorithm: ALGORITHM,
      keys: ALGORITHM === 'RS256' ? [{ ...key, alg: 'RS256', use: 'sig' }] : [{ ...key, alg: ALGORITHM, use: 'sig' }, { ...rsa, alg: 'RS256', use: 'sig' }],
      cookie_keys: ['a-cookie-key-of-the-comparison'],
    }
  }

  command() {
    return { program: `${this.folder}/node_modules/${NODE}/bin/node`, words: ['server.mjs'], cwd: this.folder, env: { NODE_ENV: 'production', PEERS_SETTINGS: JSON.stringify(this.settings) } }
  }

  setup() {
    return { client: this.client }
  }

  scopeFields() {
    return { scope: SCOPE, resource: API }
  }

  resourceFields() {
    return {}
  }

  async session(number) {
    const browser = new Browser(this.port, this.host, number)
    await this.code(browser, this.client)
    return browser
  }

  /** The first time a person is sent to sign in; then the session's cookie answers. */
  async code(browser, client) {
    const { verifier, challenge } = pkce()
    const query = form({ response_type: 'code', client_id: client.id, redirect_uri: REDIRECT, scope: SCOPE, resource: API, state: 's', code_challenge: challenge, code_challenge_method: 'S256' })
    let method = 'GET'
    let address = `/auth?${query}`
    for (let hops = 0; hops < 6; hops += 1) {
      const answer = await browser.go(method, address, { headers: { 'x-person': `person${browser.number}` } })
      const { location } = answer.headers
      if (!location) throw new Error(`${address}: ${answer.status} ${answer.text.slice(0, 300)}`)
      if (location.startsWith(REDIRECT)) return { code: codeIn(location), verifier }
      method = location.includes('/interaction/') ? 'POST' : 'GET'
      address = location
    }
    throw new Error('no code after six redirects')
  }

  introspection(client) {
    return { path: '/token/introspection', headers: basic(client.id, client.secret) }
  }
}
