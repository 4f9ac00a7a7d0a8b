// What can be checked of the driver without a suite: node --test certification/driver/test.mjs

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import test from 'node:test'

import { completeRequest, completeToken } from '../front/front.mjs'
import { compare, modulesOf } from './expected.mjs'
import { KEYS, configuration, load } from './plans.mjs'
import { commitOf } from './porteiro.mjs'

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
  const values = { issuer: 'https://a', mtls_base: 'https://b', suite: 'https://c', approvals: 'http://d/', mtls: {}, mtls2: {} }
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

const kept = async (key) => JSON.parse(await read(`../results/${key}.json`)).modules
const changed = (modules, name, more) => modules.map((module) => (module.name === name ? { ...module, ...more } : module))

test('the results are as expected', async () => {
  for (const key of KEYS) assert.deepEqual(await compare(key, await kept(key)), [], key)
})

test('row 32: a module that changed from PASSED to REVIEW, or back, is reported', async () => {
  const modules = await kept('basic')
  const looked = changed(modules, 'oidcc-server', { result: 'REVIEW' })
  assert.deepEqual(await compare('basic', looked), ['not expected: oidcc-server: review'])
  const passed = changed(modules, 'oidcc-max-age-1', { result: 'PASSED' })
  assert.deepEqual(await compare('basic', passed), ['expected and absent: oidcc-max-age-1: review'])
})

test('row 32: whatever is not PASSED and has no entry is reported, with notes or without', async () => {
  const modules = await kept('basic')
  for (const [result, notes, line] of [
    ['FAILED', [], 'failed'],
    ['FAILED', ['failure: Condition'], 'failure: Condition'],
    ['WARNING', [], 'warning'],
    ['SKIPPED', [], 'skipped'],
    ['INTERRUPTED', [], 'interrupted'],
    ['UNHEARD-OF', [], 'unheard-of'],
  ]) {
    const lines = await compare('basic', changed(modules, 'oidcc-server', { result, notes }))
    assert.deepEqual(lines, [`not expected: oidcc-server: ${line}`])
  }
})

test('row 32: a module that did not run is reported though nothing was expected of it', async () => {
  const modules = await kept('basic')
  const without = modules.filter(({ name }) => name !== 'oidcc-server')
  assert.deepEqual(await compare('basic', without), ['missing: oidcc-server'])
  assert.equal((await compare('basic', [])).length, (await modulesOf('basic')).length)
  const one = modules.filter(({ name }) => name === 'oidcc-server')
  assert.deepEqual(await compare('basic', one, ['oidcc-server']), [], 'a part was asked for')
  assert.deepEqual(await compare('basic', one, ['oidcc-server', 'oidcc-serveer']), ['missing: oidcc-serveer'])
  const more = [...modules, { name: 'oidcc-new', result: 'PASSED', notes: [] }]
  assert.deepEqual(await compare('basic', more), ['not in modules.csv: oidcc-new'])
})

test('row 32: the commit is the one the binary names, and unknown where it names none', () => {
  const commit = '4b1cb12aad479fe06470db4642395b3b85f654f1'
  assert.equal(commitOf(`porteiro 0.1.0 (${commit})\n`), commit)
  assert.equal(commitOf(`porteiro 0.1.0 (${commit}-dirty)`), `${commit}-dirty`)
  for (const text of ['porteiro 0.1.0 (unknown)', 'porteiro 0.1.0', '', `other 1 (${commit})`]) assert.equal(commitOf(text), 'unknown')
})
