// A second Porteiro, with a database and people of its own, which knows the first one as a client.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { start } from '../lib/app.mjs'
import { issuer as ours, newcomer, signIn } from '../lib/browser.mjs'
import { directoryPort } from '../lib/directory.mjs'
import { createClient, editClient } from '../lib/operator.mjs'

const { PORTEIRO_BINARY, PORTEIRO_DATABASE_URL, PORTEIRO_TLS } = process.env
// By its address: browsers keep the cookies of both apart by host, whatever the port.
const issuer = `https://127.0.0.1:${directoryPort}`
const database = `${PORTEIRO_DATABASE_URL}_upstream`
const at = { database, issuer }

/** That of its people. */
const domain = 'supplier-of-acme.org'

const sql = (text) => promisify(execFile)('psql', ['-Xq', PORTEIRO_DATABASE_URL, '-c', text])
const name = new URL(database).pathname.slice(1)

/** `output` is the file to which it prints its mail. */
function run(output) {
  const settings = {
    'database-url': database,
    'base-url': issuer,
    listen: `127.0.0.1:${directoryPort}`,
    'tls-certificate-file': `${PORTEIRO_TLS}/tls.pem`,
    'tls-key-file': `${PORTEIRO_TLS}/tls.key`,
    // It fetches the keys of its client.
    'outbound-client-hosts': new URL(ours).host,
    'outbound-ca-file': `${PORTEIRO_TLS}/ca.pem`,
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const words = ['-c', 'exec env -i "$@" >"$OUTPUT"', 'sh', PORTEIRO_BINARY, 'serve', '--dev', ...flags]
  return start('sh', words, { OUTPUT: output }, `${issuer}/readyz`)
}

/** A client without a secret: it signs with its own key. */
const metadata = {
  client_name: 'Porteiro of a supplier',
  redirect_uris: [`${ours}/ui/federation/not-known-yet`],
  grant_types: ['authorization_code'],
  token_endpoint_auth_method: 'private_key_jwt',
  token_endpoint_auth_signing_alg: 'ES256',
  id_token_signed_response_alg: 'ES256',
  jwks_uri: `${ours}/.well-known/jwks.json`,
}

export async function upstream(browser) {
  await sql(`CREATE DATABASE ${name}`)
  const output = `${PORTEIRO_TLS}/output-upstream`
  const running = await run(output)
  const { client_id } = await createClient(metadata, undefined, at)
  const people = {}
  for (const who of ['member', 'stranger']) {
    const where = { at: issuer, output, address: `${who}@${domain}` }
    const { page, person } = await newcomer(browser, `${who} there`, 'password', where)
    await page.context().close()
    people[who] = person
  }
  return {
    said: running.said,
    issuer,
    domain,
    client_id,
    client_authentication: 'private_key_jwt',
    algorithm: 'ES256',
    allow: ({ redirect_uri, backchannel_logout_uri }) => {
      const addresses = { redirect_uris: [redirect_uri], backchannel_logout_uri, backchannel_logout_session_required: true }
      return editClient(client_id, addresses, at)
    },
    signOut: async (page) => {
      const at = `${issuer}/v1/account/sessions`
      const { items } = await (await page.request.get(at)).json()
      const { id } = items.find(({ current }) => current)
      const response = await page.request.delete(`${at}/${id}`, { headers: { origin: issuer } })
      if (!response.ok()) throw new Error(`signing out there: ${await response.text()}`)
    },
    enter: (page, who) => signIn(page, people[who]),
    mistakes: [
      [{ issuer: `${issuer}/` }, 'metadata_content', /Both must be equal, also in the last slash/],
      [{ issuer: `https://localhost:${directoryPort}` }, 'metadata_content', /but "https:\/\/localhost:\d+" is configured/],
    ],
    stop: async () => {
      await running.stop()
      await sql(`DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}
