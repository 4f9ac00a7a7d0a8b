// The two clients of a FAPI plan: their keys, their certificates, and what an operator registers of them.

import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** What both clients register, and where the plan changes it. */
const metadata = (suite, alias, query, key, extra) => ({
  client_name: 'Conformance suite',
  redirect_uris: [`${suite}/test/a/${alias}/callback${query}`],
  grant_types: ['authorization_code'],
  response_types: ['code'],
  token_endpoint_auth_method: 'private_key_jwt',
  token_endpoint_auth_signing_alg: 'PS256',
  id_token_signed_response_alg: 'PS256',
  require_pushed_authorization_requests: true,
  jwks: { keys: [publicPart(key)] },
  ...extra,
})

const publicPart = ({ kty, n, e, kid, alg, use }) => ({ kty, n, e, kid, alg, use })

const key = (kid) => ({
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid,
  alg: 'PS256',
  use: 'sig',
})

const certificate = async (folder, name) => {
  const [keyFile, file] = [`${folder}/${name}.key`, `${folder}/${name}.pem`]
  await run('openssl', [
    'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', keyFile, '-out', file,
  ])
  return { cert: await readFile(file, 'utf8'), key: await readFile(keyFile, 'utf8') }
}

/** Makes both; gives `client`, `client2`, `mtls` and `mtls2` as the suite's configuration calls them. */
export const make = async (porteiro, suite, { alias, extra, scope, configured }) => {
  const made = {}
  for (const [number, query] of [['', ''], ['2', '?dummy1=lorem&dummy2=ipsum']]) {
    const own = key(`certification-${number || '1'}`)
    const id = await porteiro.client(metadata(suite, alias, query, own, extra), 'fapi2')
    made[`client${number}`] = { client_id: id, scope, jwks: { keys: [own] }, ...configured }
    made[`mtls${number}`] = await certificate(porteiro.folder, `client${number || '1'}`)
  }
  return made
}
