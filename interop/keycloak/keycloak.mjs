// A Keycloak with a realm and two people in it, and what its administrator does for a connection.

import { start } from '../lib/app.mjs'
import { directoryPort } from '../lib/directory.mjs'

const { PORTEIRO_TLS } = process.env
const origin = `https://localhost:${directoryPort}`
const admin = { username: 'admin', password: 'admin of the interop run' }
const client = { clientId: 'porteiro', secret: 'a-secret-that-keycloak-made' }

const domain = 'directory-of-acme.org'

/** The people of the realm. A realm asks for a full profile at the first sign-in unless it is there. */
export const people = Object.fromEntries(
  ['member', 'stranger'].map((username) => {
    const profile = { email: `${username}@${domain}`, emailVerified: true, firstName: 'Ana', lastName: 'Souza' }
    return [username, { ...profile, username, password: `${username} by the river` }]
  }),
)

/** One server in memory, compiled lightly: it lives for a minute. */
const run = () => {
  const words = [
    'start', '--optimized', `--hostname=${origin}`, '--http-host=127.0.0.1', `--https-port=${directoryPort}`,
    `--truststore-paths=${PORTEIRO_TLS}/ca.pem`, `--https-certificate-file=${PORTEIRO_TLS}/tls.pem`, `--https-certificate-key-file=${PORTEIRO_TLS}/tls.key`,
  ]
  const env = {
    KC_BOOTSTRAP_ADMIN_USERNAME: admin.username,
    KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
    JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx384m',
    JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1',
  }
  return start('distribution/bin/kc.sh', words, env, `${origin}/realms/master`, 180)
}

/** A function for calls of the admin API. A token lives for a minute. */
const administrator = async () => {
  const form = new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...admin })
  const token = await fetch(`${origin}/realms/master/protocol/openid-connect/token`, { method: 'POST', body: form })
  const headers = { authorization: `Bearer ${(await token.json()).access_token}`, 'content-type': 'application/json' }
  return async (method, path, value) => {
    const response = await fetch(`${origin}/admin/realms${path}`, { method, headers, body: value && JSON.stringify(value) })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text && JSON.parse(text)
  }
}

/** What an administrator makes once: docs/directories/keycloak.md has it step by step. */
async function setUp() {
  const call = await administrator()
  await call('POST', '', { realm: 'acme', enabled: true })
  await call('POST', '/acme/clients', {
    ...client, protocol: 'openid-connect', publicClient: false, standardFlowEnabled: true,
    attributes: { 'pkce.code.challenge.method': 'S256' },
  })
  for (const { password, ...person } of Object.values(people)) {
    await call('POST', '/acme/users', { ...person, enabled: true, credentials: [{ type: 'password', value: password }] })
  }
}

const changeClient = async (change) => {
  const call = await administrator()
  const [known] = await call('GET', '/acme/clients?clientId=porteiro')
  await call('PUT', `/acme/clients/${known.id}`, { ...known, ...change })
}

export async function keycloak() {
  const running = await run()
  try {
    await setUp()
  } catch (error) {
    await running.stop()
    throw error
  }
  const issuer = `${origin}/realms/acme`
  return {
    ...running,
    issuer,
    client_id: client.clientId,
    client_secret: client.secret,
    client_authentication: 'client_secret_basic',
    algorithm: 'RS256',
    domain,
    allow: ({ redirect_uri, backchannel_logout_uri }) =>
      changeClient({
        redirectUris: [redirect_uri],
        attributes: {
          'pkce.code.challenge.method': 'S256',
          'backchannel.logout.url': backchannel_logout_uri,
          'backchannel.logout.session.required': 'true',
        },
      }),
    // As the realm's administrator ends the sessions of somebody.
    signOut: async (page, who) => {
      const call = await administrator()
      const [{ id }] = await call('GET', `/acme/users?username=${people[who].username}&exact=true`)
      await call('POST', `/acme/users/${id}/logout`)
    },
    enter: async (page, who) => {
      await page.fill('#username', people[who].username)
      await page.fill('#password', people[who].password)
      await page.click('#kc-login')
    },
    mistakes: [
      [{ issuer: `${issuer}/` }, 'metadata_content', /Both must be equal, also in the last slash/],
      [{ issuer: `${origin}/realms/other` }, 'metadata', /could not be fetched/],
      // Keycloak announces every algorithm that it knows, and has a key for the one that the realm uses.
      [{ algorithm: 'ES256' }, 'key', /None of the provider's keys is for ES256/],
    ],
  }
}
