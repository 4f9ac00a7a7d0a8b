// The clients of a plan: their keys and certificates, made for this run, and their registration by an operator.

import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

import { fill } from './plans.mjs'

const run = promisify(execFile)

/** Registers each; gives what the suite's configuration says of them, by name. `base`: where the suite takes answers. */
export const make = async (porteiro, base, clients = {}) => {
  const made = {}
  for (const [name, client] of Object.entries(clients)) {
    const keys = client.keys && keysOf(name, client.keys)
    const registered = await porteiro.client(fill(client.metadata, { base, ...keys }), client.profile)
    made[name] = fill(client.configuration, { ...registered, ...keys })
  }
  return made
}

const keysOf = (kid, alg) => {
  const own = { ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' }
  const { kty, n, e, use } = own
  return { private: { keys: [own] }, public: { keys: [{ kty, n, e, kid, alg, use }] } }
}

/** A certificate that nobody signed, as the suite's configuration wants it. */
export const certificate = async (folder, name) => {
  const [key, cert] = [`${folder}/${name}.key`, `${folder}/${name}.pem`]
  await run('openssl', [
    'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', key, '-out', cert,
  ])
  return { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }
}
