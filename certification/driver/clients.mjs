// The clients of a plan: their keys and certificates, made for this run, and their registration by an operator.

import { execFile } from 'node:child_process'
import { X509Certificate, generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

import { fill } from './plans.mjs'

const run = promisify(execFile)

/**
 * Registers each; gives what the suite's configuration says of them, by name. `values`: what their files name; `base` is
 * where the suite takes answers. Where a client names one of the certificates, it is among its public keys.
 */
export const make = async (porteiro, values, clients = {}, certificates = {}) => {
  const made = {}
  for (const [name, client] of Object.entries(clients)) {
    const keys = client.keys && keysOf(name, client.keys)
    if (client.certificate) keys.public.keys.push(publicKey(certificates[client.certificate].cert))
    const registered = await porteiro.client(fill(client.metadata, { ...values, ...keys }), client.profile)
    made[name] = fill(client.configuration, { ...values, ...registered, ...keys })
  }
  return made
}

/** RFC 8705 §2.2.2. */
const publicKey = (pem) => {
  const certificate = new X509Certificate(pem)
  return { ...certificate.publicKey.export({ format: 'jwk' }), kid: 'certificate', x5c: [certificate.raw.toString('base64')] }
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
