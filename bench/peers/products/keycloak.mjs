// Keycloak on PostgreSQL, behind a proxy that ends TLS. Settings and the guides they are from: ../README.md.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { ALGORITHM, PORTS, REDIRECT, SCOPE } from '../lib/constants.mjs'
import { Browser, FORM, JSON_TYPE, basic, codeIn, form, forwarded, many, must, pkce } from '../lib/http.mjs'

const VERSION = '26.7.0'
const REALM = 'peers'
const BASE = `/realms/${REALM}/protocol/openid-connect`

/** "Supported Configurations": 17, 21 or 25, and the newest of them for speed. */
function javaHome() {
  if (process.env.JAVA_HOME) return process.env.JAVA_HOME
  const all = readdirSync('/usr/lib/jvm').filter((name) => existsSync(`/usr/lib/jvm/${name}/bin/java`))
  const found = ['25', '21', '17'].map((version) => all.find((name) => name.includes(`-${version}-`))).find(Boolean)
  if (!found) throw new Error('no Java 25, 21 or 17 in /usr/lib/jvm; name one by JAVA_HOME')
  return `/usr/lib/jvm/${found}`
}

export class Keycloak {
  key = 'keycloak'
  name = 'Keycloak'
  host = 'keycloak.example.org'
  port = PORTS.product(3)
  managementPort = PORTS.product(3) + 1
  readyPort = this.managementPort
  readyPath = '/health/ready'
  // It takes seconds, and logs each time that it is not ready yet.
  readyEvery = 50
  discoveryPath = `/realms/${REALM}/.well-known/openid-configuration`
  tokenPath = `${BASE}/token`
  redirectUri = REDIRECT

  constructor(context) {
    this.context = context
    this.folder = `${context.cache}/keycloak-${VERSION}`
  }

  get version() {
    const java = execFileSync(`${javaHome()}/bin/java`, ['--version'], { encoding: 'utf8' }).split('\n')[0]
    return `${VERSION}, ${java}`
  }

  installed() {
    return existsSync(`${this.folder}/built`)
  }

  /** The distribution as it is published to the Maven registry, then its own build step. */
  install() {
    const artifact = `org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`
    execFileSync('mvn', ['-q', '-B', 'dependency:get', `-Dartifact=${artifact}`, '-Dtransitive=false'], { stdio: ['ignore', 'ignore', 'inherit'] })
    rmSync(this.folder, { recursive: true, force: true })
    const unpacked = `${this.context.cache}/keycloak.new`
    rmSync(unpacked, { recursive: true, force: true })
    mkdirSync(unpacked, { recursive: true })
    const file = `${homedir()}/.m2/repository/org/keycloak/keycloak-quarkus-dist/${VERSION}/keycloak-quarkus-dist-${VERSION}.zip`
    execFileSync('unzip', ['-q', file, '-d', unpacked])
    renameSync(`${unpacked}/keycloak-${VERSION}`, this.folder)
    rmSync(unpacked, { recursive: true, force: true })
    execFileSync(`${this.folder}/bin/kc.sh`, ['build', '--db=postgres', '--health-enabled=true'], { stdio: ['ignore', 'ignore', 'inherit'] })
    writeFileSync(`${this.folder}/built`, '')
  }

  prepare(database) {
    this.database = database
  }

  command() {
    const { port, name, user } = this.database
    return {
      program: `${this.folder}/bin/kc.sh`,
      words: ['start', '--optimized', `--hostname=https://${this.host}`, '--http-enabled=true', '--proxy-headers=xforwarded', '--proxy-trusted-addresses=127.0.0.1',
        '--http-host=127.0.0.1', `--http-port=${this.port}`, `--http-management-port=${this.managementPort}`, '--cache-embedded-network-bind-address=127.0.0.1',
        `--db-url=jdbc:postgresql://127.0.0.1:${port}/${name}`, `--db-username=${user}`, '--db-password=trust',
        '--db-pool-initial-size=30', '--db-pool-min-size=30', '--db-pool-max-size=30'],
      env: { JAVA_HOME: javaHome(), JAVA_OPTS_KC_HEAP: '-Xms512m -Xmx1524m', KC_BOOTSTRAP_ADMIN_USERNAME: 'admin', KC_BOOTSTRAP_ADMIN_PASSWORD: 'admin-of-the-comparison' },
    }
  }

  async setup() {
    const admin = (path, value) => this.#admin(`/admin/realms${path}`, value)
    await admin('', { realm: REALM, enabled: true, defaultSignatureAlgorithm: ALGORITHM, revokeRefreshToken: true, refreshTokenMaxReuse: 0 })
    await admin(`/${REALM}/client-scopes`, { name: SCOPE, protocol: 'openid-connect', attributes: { 'include.in.token.scope': 'true' } })
    const client = (this.client = { id: 'peers', secret: 'a-secret-of-the-comparison-that-is-long' })
    await admin(`/${REALM}/clients`, {
      clientId: client.id, secret: client.secret, enabled: true, protocol: 'openid-connect', publicClient: false, clientAuthenticatorType: 'client-secret',
      standardFlowEnabled: true, directAccessGrantsEnabled: false, serviceAccountsEnabled: true, redirectUris: [REDIRECT], optionalClientScopes: [SCOPE],
      attributes: { 'pkce.code.challenge.method': 'S256', 'access.token.signed.response.alg': ALGORITHM },
      // Who introspects a token must be in its audience.
      protocolMappers: [{
        name: 'audience', protocol: 'openid-connect', protocolMapper: 'oidc-audience-mapper',
        config: { 'included.client.audience': client.id, 'access.token.claim': 'true', 'introspection.token.claim': 'true' },
      }],
    })
    await many(this.context.options.sessions, 8, (number) => admin(`/${REALM}/users`, {
      username: `person${number}`, email: `person${number}@example.org`, firstName: 'Person', lastName: `${number}`, enabled: true, emailVerified: true,
      credentials: [{ type: 'password', value: `${number} herons by the river`, temporary: false }],
    }))
    return { client }
  }

  async #admin(path, value) {
    const headers = forwarded(this.host)
    // A token of an administrator lives for a minute.
    if (!(Date.now() < this.tokenUntil)) {
      const body = form({ grant_type: 'password', client_id: 'admin-cli', username: 'admin', password: 'admin-of-the-comparison' })
      const answer = await must(this.port, 'POST', '/realms/master/protocol/openid-connect/token', { headers: { ...headers, ...FORM }, body })
      this.token = answer.json().access_token
      this.tokenUntil = Date.now() + 20_000
    }
    return must(this.port, 'POST', path, { headers: { ...headers, ...JSON_TYPE, authorization: `Bearer ${this.token}` }, body: JSON.stringify(value) })
  }

  scopeFields() {
    return { scope: SCOPE }
  }

  resourceFields() {
    return {}
  }

  async session(number) {
    const browser = new Browser(this.port, this.host, number)
    await this.code(browser, this.client)
    return browser
  }

  /** The first time there is a form to fill in; then the session's cookie answers. */
  async code(browser, client) {
    const { verifier, challenge } = pkce()
    const query = form({ response_type: 'code', client_id: client.id, redirect_uri: REDIRECT, scope: SCOPE, state: 's', code_challenge: challenge, code_challenge_method: 'S256' })
    let answer = await browser.go('GET', `${BASE}/auth?${query}`)
    if (answer.status === 200) {
      const action = /<form[^>]*action="([^"]+)"/.exec(answer.text)?.[1].replaceAll('&amp;', '&')
      if (!action) throw new Error(`no form in ${answer.text.slice(0, 300)}`)
      const body = form({ username: `person${browser.number}`, password: `${browser.number} herons by the river`, credentialId: '' })
      answer = await browser.go('POST', action, { headers: FORM, body })
    }
    const { location } = answer.headers
    if (!location?.startsWith(REDIRECT)) throw new Error(`${answer.status} ${location} ${answer.text.slice(0, 300)}`)
    return { code: codeIn(location), verifier }
  }

  introspection(client) {
    return { path: `${BASE}/token/introspect`, headers: basic(client.id, client.secret) }
  }
}
