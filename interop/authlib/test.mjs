// A Flask application in a browser, and an agent. interop/run runs it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Person, mailFrom } from '../openid-client/person.mjs'
import { port, start, walk } from '../lib/app.mjs'
import { createClient } from '../lib/operator.mjs'

const app = `http://127.0.0.1:${port}`
walk('a Flask application', {
  app,
  how: 'passkey',
  expected: ['passkey', 'consent/allow'],
  open: async () => {
    const { client_id, client_secret } = await createClient('client.json', app)
    const env = { APP_URL: app, ISSUER: process.env.PORTEIRO_ISSUER, CLIENT_ID: client_id, CLIENT_SECRET: client_secret }
    return start('venv/bin/python', ['app.py'], env)
  },
})

test('an agent acts for a person who delegated to it (RFC 8693)', { timeout: 60_000 }, async () => {
  const ISSUER = process.env.PORTEIRO_ISSUER
  const bo = new Person(ISSUER, 'Bo', 'bo@example.test', mailFrom(process.env.PORTEIRO_OUTPUT))
  await bo.register()
  const [made, agent] = [await createClient('client.json', app), await createClient('agent.json', app)]
  const subject = await accessToken(ISSUER, made, bo)
  const exchange = async (SCOPE) => {
    const secrets = { CLIENT_ID: agent.client_id, CLIENT_SECRET: agent.client_secret, SUBJECT_TOKEN: subject }
    const env = { ...process.env, ISSUER, SCOPE, ...secrets }
    return JSON.parse((await promisify(execFile)('venv/bin/python', ['exchange.py'], { env })).stdout)
  }
  await assert.rejects(exchange('openid profile'), /invalid_request/)
  await bo.delegate(agent.client_id, 'openid profile')
  const { token, userinfo } = await exchange('openid profile')
  assert.equal(token.scope, 'openid profile')
  assert.deepEqual([userinfo.name, userinfo.email], ['Bo', undefined])
  await assert.rejects(exchange('openid profile email'), /invalid_request/)
})

/** The person's application signs them in, and has this to hand on. */
async function accessToken(issuer, { client_id, client_secret }, person) {
  const [verifier, redirect_uri] = [randomBytes(32).toString('base64url'), `${app}/callback`]
  const query = new URLSearchParams({
    client_id,
    redirect_uri,
    response_type: 'code',
    scope: 'openid profile email',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const returned = await person.visit(`${issuer}/connect/authorize?${query}`)
  const body = { grant_type: 'authorization_code', code: returned.searchParams.get('code'), code_verifier: verifier }
  const headers = { authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}` }
  const answer = await fetch(`${issuer}/connect/token`, {
    method: 'POST',
    headers,
    body: new URLSearchParams({ ...body, redirect_uri }),
  })
  return (await answer.json()).access_token
}
