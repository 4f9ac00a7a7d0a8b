// What can be checked of the driver without a suite: node --test certification/driver/test.mjs

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import test from 'node:test'

import { completeRequest, completeToken } from '../front/front.mjs'
import { compare } from './expected.mjs'
import { KEYS, configuration, load } from './plans.mjs'

const read = (path) => readFile(new URL(path, import.meta.url), 'utf8')
const fits = (request, token) => {
  const verifier = new URLSearchParams(token).get('code_verifier')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return new URLSearchParams(request).get('code_challenge') === challenge
}

test('the verifier fits the latest challenge of the client, however it names itself', () => {
  const first = completeRequest('client_id=a%20b&state=1')
  const request = completeRequest('client_id=a%20b&state=2')
  assert.notEqual(first.replace('=1', '=2'), request)
  const code = 'grant_type=authorization_code&code=c'
  assert.ok(fits(request, completeToken(`${code}&client_id=a+b`)))
  assert.ok(fits(request, completeToken(code, `Basic ${Buffer.from('a%20b:secret').toString('base64')}`)))
  const claims = Buffer.from('{"sub":"a b"}').toString('base64url')
  assert.ok(fits(request, completeToken(`${code}&client_assertion=e30.${claims}.x`)))
})

test('what is complete, pushed or no code is handed on as it is', () => {
  const pushed = 'client_id=a&request_uri=urn%3Aietf%3Aparams%3Aoauth%3Arequest_uri%3Ax'
  for (const text of ['client_id=a&code_challenge=x', pushed, 'state=1']) assert.equal(completeRequest(text), text)
  for (const text of ['grant_type=refresh_token&client_id=a', 'grant_type=authorization_code&client_id=a&code_verifier=x']) {
    assert.equal(completeToken(text), text)
  }
})

test('every plan names only what a run has', async () => {
  const anything = new Proxy({}, { get: (_, name) => (name === 'toString' ? () => 'x' : 'x') })
  const values = { issuer: 'https://a', mtls_base: 'https://b', suite: 'https://c', mtls: {}, mtls2: {} }
  for (const key of KEYS) {
    const plan = await load(key)
    const filled = await configuration(plan, { ...values, person: anything, without_phone: anything, clients: anything })
    assert.equal(filled.alias, `porteiro-${key}`)
    assert.ok(!JSON.stringify(filled).includes('${'), key)
  }
})

test('what is not passed is explained by a decision record that exists', async () => {
  const records = await readdir(new URL('../../docs/decisions/', import.meta.url))
  for (const { plans, because } of JSON.parse(await read('../expected.json'))) {
    assert.ok(plans.every((key) => KEYS.includes(key)), plans.join())
    assert.ok(records.some((name) => name.startsWith(`${because}-`)), because)
  }
})

test('the results are as expected', async () => {
  for (const file of await readdir(new URL('../results/', import.meta.url))) {
    const key = file.replace(/\.json$/, '')
    assert.deepEqual(await compare(key, JSON.parse(await read(`../results/${file}`)).modules, false), [], file)
  }
})
