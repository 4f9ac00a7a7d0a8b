// What a relying party may expect, said by a library that knows nothing of Porteiro. interop/run runs it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import * as client from 'openid-client'
import { port, start, walk } from '../lib/app.mjs'
import { createClient, registerApi } from '../lib/operator.mjs'
import { origin, serve } from '../lib/site.mjs'
import { approved, ask, ledger, pinged } from './ciba.mjs'
import { Person, mailFrom } from './person.mjs'
import { connect, goodbye, refresh, register, signIn, signOut } from './sign-in.mjs'

const issuer = process.env.PORTEIRO_ISSUER
const mail = mailFrom(process.env.PORTEIRO_OUTPUT)
let ana, made

before(async () => {
  // A client that an operator made: it is trusted as those that register themselves are not.
  made = await createClient('client.json', 'https://app.example.test')
  ana = new Person(issuer, 'Ana', 'ana@example.test', mail)
  assert.equal((await ana.register()).stage, 'complete')
})

/** What the library throws when the server says no. */
const refused = (error) => ({ error })

/** Tokens of Ana's that do all they should, and then nothing any more. */
async function journey(config, options = {}, trusted = false) {
  // A browser of its own: what one test signs out, another may need.
  const person = ana.elsewhere()
  const began = Math.floor(Date.now() / 1000)
  const tokens = await signIn(config, person.visit, options)
  const { client_id } = config.clientMetadata()

  const claims = tokens.claims()
  assert.equal(claims.iss, issuer)
  assert.equal(claims.aud, client_id)
  assert.ok(claims.auth_time >= began - 5 && claims.exp > began && claims.sid)
  assert.ok(claims.amr.includes('pwd'), `${claims.amr}`)
  assert.equal(tokens.token_type, options.DPoP ? 'dpop' : 'bearer')

  const about = await client.fetchUserInfo(config, tokens.access_token, claims.sub, options)
  assert.deepEqual([about.name, about.email, about.email_verified], ['Ana', 'ana@example.test', true])

  const fresh = await refresh(config, tokens, options)
  assert.notEqual(fresh.refresh_token, tokens.refresh_token)
  assert.equal((await client.fetchUserInfo(config, fresh.access_token, claims.sub, options)).sub, claims.sub)

  const out = await signOut(config, person.visit, tokens)
  assert.equal(out.origin + out.pathname, goodbye)
  await assert.rejects(refresh(config, fresh, options), refused('invalid_grant'))
  await assert.rejects(client.fetchUserInfo(config, fresh.access_token, claims.sub, options), { status: 401 })
  // Nobody is signed in any more, and nobody is asked. Who registered itself does not even get them back, or registering
  // would make a redirector (RFC 9700 §4.11.2): the person is told on the spot.
  const told = trusted ? refused('login_required') : /connect\/authorize.*400.*"login_required"/
  await assert.rejects(signIn(config, person.visit, { ...options, prompt: 'none' }), told)
  return { tokens, claims }
}

test('the issuer is discovered by both of its documents', async () => {
  for (const algorithm of ['oidc', 'oauth2']) {
    const config = await client.discovery(new URL(issuer), 'nobody', undefined, undefined, { algorithm })
    const server = config.serverMetadata()
    assert.equal(server.issuer, issuer)
    assert.ok(server.supportsPKCE(), 'S256 is announced')
  }
})

test('a client of the operator signs a person in, refreshes and signs out', async () => {
  const config = await connect(issuer, made)
  await journey(config, {}, true)
  await journey(config, { pushed: true }, true)
})

test('a public client that registered itself signs a person in, refreshes and signs out', async () => {
  const config = await register(issuer)
  assert.equal(config.clientMetadata().client_secret, undefined)
  await journey(config)
})

test('who is signed in and agreed before is not asked again, where somebody has checked the client', async () => {
  const config = await connect(issuer, made)
  const person = ana.elsewhere()
  const first = await signIn(config, person.visit)
  const again = await signIn(config, person.visit, { prompt: 'none' })
  assert.equal(again.claims().sub, first.claims().sub)
  assert.equal(again.claims().auth_time, first.claims().auth_time)
  // Who registered itself asks every time.
  const stranger = await register(issuer)
  await signIn(stranger, person.visit)
  await assert.rejects(signIn(stranger, person.visit, { prompt: 'none' }), /400.*"consent_required"/)
})

test('a refresh token that comes twice ends the whole family', async () => {
  const config = await register(issuer)
  const tokens = await signIn(config, ana.elsewhere().visit)
  const fresh = await refresh(config, tokens)
  await assert.rejects(refresh(config, tokens), refused('invalid_grant'))
  await assert.rejects(refresh(config, fresh), refused('invalid_grant'))
  await assert.rejects(client.fetchUserInfo(config, fresh.access_token, tokens.claims().sub), { status: 401 })
})

for (const [method, authentication] of [
  ['client_secret_basic', client.ClientSecretBasic],
  ['client_secret_post', client.ClientSecretPost],
]) {
  test(`a confidential client introspects and revokes, by ${method}`, async () => {
    const config = await register(issuer, { token_endpoint_auth_method: method }, authentication())
    const tokens = await signIn(config, ana.elsewhere().visit)
    const told = await client.tokenIntrospection(config, tokens.access_token)
    assert.deepEqual([told.active, told.sub], [true, tokens.claims().sub])
    assert.equal(told.client_id, config.clientMetadata().client_id)
    assert.equal((await client.tokenIntrospection(config, tokens.refresh_token)).active, true)

    await client.tokenRevocation(config, tokens.refresh_token)
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      assert.deepEqual(await client.tokenIntrospection(config, token), { active: false })
    }
    await assert.rejects(refresh(config, tokens), refused('invalid_grant'))
  })
}

test('the request is pushed ahead (RFC 9126)', async () => {
  const config = await register(issuer, { require_pushed_authorization_requests: true })
  await journey(config, { pushed: true })
  await assert.rejects(signIn(config, ana.elsewhere().visit), /400.*"invalid_request"/)
})

test('tokens are bound to a key (RFC 9449)', async () => {
  const config = await register(issuer, { dpop_bound_access_tokens: true })
  const handle = async () => client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'))
  await journey(config, { DPoP: await handle() })
  await journey(config, { DPoP: await handle(), pushed: true })

  const keys = await client.randomDPoPKeyPair('ES256')
  const tokens = await signIn(config, ana.elsewhere().visit, { DPoP: client.getDPoPHandle(config, keys) })
  const { sub } = tokens.claims()
  // An application that was restarted has the key and no nonce: the library is told one and tries again.
  const DPoP = client.getDPoPHandle(config, keys)
  assert.equal((await client.fetchUserInfo(config, tokens.access_token, sub, { DPoP })).sub, sub)
  // Of no use without the key.
  await assert.rejects(client.fetchUserInfo(config, tokens.access_token, sub), { status: 401 })
  await assert.rejects(client.fetchUserInfo(config, tokens.access_token, sub, { DPoP: await handle() }), { status: 401 })
  await assert.rejects(refresh(config, tokens, { DPoP: await handle() }), refused('invalid_grant'))
})

for (const alg of ['ES256', 'PS256', 'Ed25519']) {
  test(`a client proves itself with a key of its own (private_key_jwt, ${alg})`, async () => {
    const { publicKey, privateKey } = await client.randomDPoPKeyPair(alg, { extractable: true })
    const jwk = { ...(await crypto.subtle.exportKey('jwk', publicKey)), kid: 'one', use: 'sig' }
    delete jwk.key_ops
    delete jwk.ext
    const config = await register(
      issuer,
      {
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [jwk] },
      },
      client.PrivateKeyJwt({ key: privateKey, kid: 'one' }),
    )
    assert.equal(config.clientMetadata().client_secret, undefined)
    const { tokens } = await journey(config, { pushed: true })
    assert.equal((await client.tokenIntrospection(config, tokens.access_token)).active, false)
  })
}

test('the answer comes signed (JARM), and posted', async () => {
  const config = await register(issuer, { authorization_signed_response_alg: 'ES256' })
  await journey(config, { response_mode: 'form_post' })
  client.useJwtResponseMode(config)
  await journey(config)
})

test('the ID token is signed as the client asked', async () => {
  for (const alg of ['ES256', 'PS256', 'RS256', 'EdDSA']) {
    const config = await register(issuer, { id_token_signed_response_alg: alg })
    client.enableNonRepudiationChecks(config)
    const tokens = await signIn(config, ana.elsewhere().visit)
    assert.equal(JSON.parse(Buffer.from(tokens.id_token.split('.')[0], 'base64url')).alg, alg)
  }
})

test('who says no is heard', async () => {
  const config = await register(issuer)
  const deny = (address) => ana.elsewhere().visit(address, 'deny')
  await assert.rejects(signIn(config, deny), refused('access_denied'))
})

test('an agent acts for a person until they say otherwise (RFC 8693)', async () => {
  const [config, agent] = await Promise.all([
    connect(issuer, made),
    createClient('agent.json', 'https://app.example.test').then((one) =>
      client.discovery(new URL(issuer), one.client_id, undefined, client.ClientSecretBasic(one.client_secret)),
    ),
  ])
  const { client_id } = agent.clientMetadata()
  const person = ana.elsewhere()
  const tokens = await signIn(config, person.visit)
  const { sub } = tokens.claims()
  const exchange = (scope) =>
    client.genericGrantRequest(agent, 'urn:ietf:params:oauth:grant-type:token-exchange', {
      subject_token: tokens.access_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      scope,
    })
  await assert.rejects(exchange('openid profile'), refused('invalid_request'))

  const { id } = await person.delegate(client_id, 'openid profile')
  await assert.rejects(exchange('openid profile email'), refused('invalid_request'))
  await assert.rejects(exchange('openid phone'), refused('invalid_scope'))
  const held = await exchange('openid profile')
  assert.equal(held.issued_token_type, 'urn:ietf:params:oauth:token-type:access_token')
  assert.equal(held.refresh_token, undefined)
  const about = await client.fetchUserInfo(agent, held.access_token, sub)
  assert.deepEqual([about.name, about.email], ['Ana', undefined])
  const told = await client.tokenIntrospection(agent, held.access_token)
  assert.deepEqual([told.active, told.sub, told.act.sub], [true, sub, client_id])

  await person.call('DELETE', `/v1/account/delegations/${id}`)
  assert.deepEqual(await client.tokenIntrospection(agent, held.access_token), { active: false })
  await assert.rejects(client.fetchUserInfo(agent, held.access_token, sub), { status: 401 })
  await assert.rejects(exchange('openid profile'), refused('invalid_request'))
})

describe('an agent asks its person for one payment (OpenID CIBA)', { concurrency: true, timeout: 60_000 }, () => {
  const payment = { amount: '10.00', to: 'Bea' }
  let bea, sub, agent, pingedAgent

  before(async () => {
    await registerApi('ledger.json', ledger)
    bea = new Person(issuer, 'Bea', 'bea@example.test', mail)
    await bea.register()
    sub = (await signIn(await connect(issuer, made), bea.visit)).claims().sub
    agent = await delegated()
    pingedAgent = await delegated({
      backchannel_token_delivery_mode: 'ping',
      backchannel_client_notification_endpoint: `${origin}/ping`,
    })
  })

  /** An agent to which she delegated that it may read. For more it has to ask. */
  const delegated = async (more) => {
    const metadata = { ...JSON.parse(await readFile('asking.json', 'utf8')), ...more }
    const { client_id, client_secret } = await createClient(metadata)
    await bea.delegate(client_id, 'invoices:read')
    return client.discovery(new URL(issuer), client_id, undefined, client.ClientSecretBasic(client_secret))
  }

  /** One token for exactly this payment, which is not given twice. */
  const exactly = async (config, asked, tokens) => {
    const told = await client.tokenIntrospection(config, tokens.access_token)
    const { client_id } = config.clientMetadata()
    assert.deepEqual([told.active, told.sub, told.act.sub, told.aud], [true, sub, client_id, ledger])
    assert.deepEqual(told.authorization_details, [{ type: 'payment', ...payment }])
    assert.equal(tokens.claims().sub, sub)
    assert.equal(tokens.refresh_token, undefined)
    const again = { auth_req_id: asked.auth_req_id }
    await assert.rejects(client.genericGrantRequest(config, 'urn:openid:params:grant-type:ciba', again), refused('invalid_grant'))
  }

  test('by poll', async () => {
    const asked = await ask(agent, sub, payment, { binding_message: 'By poll' })
    const waiting = approved(agent, asked)
    await bea.decide('By poll', 'approve', asked.approval_number)
    await exactly(agent, asked, await waiting)
  })

  test('who says no is heard, and who was given nothing may not ask', async () => {
    const asked = await ask(agent, sub, payment, { binding_message: 'Not this one' })
    const waiting = approved(agent, asked)
    const [answer] = await Promise.allSettled([waiting, bea.decide('Not this one', 'deny')])
    assert.equal(answer.reason.error, 'access_denied')
    await assert.rejects(ask(agent, ana.address, payment), refused('unknown_user_id'))
    await assert.rejects(ask(agent, sub, { amount: 'everything', to: 'Bea' }), refused('invalid_authorization_details'))
  })

  test('by ping', async () => {
    const waiting = new Map()
    const token = client.randomState()
    let heard
    const told = new Promise((resolve) => (heard = resolve))
    const site = await serve(async (request, response) => {
      const body = (await request.toArray()).join('')
      const asked = pinged(waiting, request, body)
      response.writeHead(asked ? 204 : 401, { connection: 'close' }).end()
      if (asked) heard(asked)
    })
    try {
      await assert.rejects(ask(pingedAgent, sub, payment), refused('invalid_request'))
      const more = { binding_message: 'By ping', client_notification_token: token }
      const asked = await ask(pingedAgent, sub, payment, more)
      waiting.set(token, asked)
      await bea.decide('By ping', 'approve', asked.approval_number)
      assert.equal(await told, asked)
      await exactly(pingedAgent, asked, await approved(pingedAgent, asked))
    } finally {
      site.stop()
    }
  })
})

test('a device without a browser is let in (RFC 8628)', async () => {
  const television = await createClient('device.json', 'https://app.example.test')
  const config = await connect(issuer, television)
  const asked = await client.initiateDeviceAuthorization(config, { scope: 'openid email' })
  assert.ok(asked.verification_uri_complete.startsWith(asked.verification_uri))
  const waiting = client.pollDeviceAuthorizationGrant(config, asked)
  const person = ana.elsewhere()
  assert.deepEqual(await person.confirm(asked.user_code), { type: 'device', outcome: 'approved' })
  const tokens = await waiting
  const about = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub)
  assert.equal(about.email, 'ana@example.test')
  assert.equal((await client.fetchUserInfo(config, (await refresh(config, tokens)).access_token, about.sub)).sub, about.sub)

  const again = await client.initiateDeviceAuthorization(config, { scope: 'openid' })
  const told = client.pollDeviceAuthorizationGrant(config, again)
  const [denied] = await Promise.allSettled([told, person.confirm(again.user_code, 'deny')])
  assert.equal(denied.reason.error, 'access_denied')
})

test('the example runs as it stands', async () => {
  const run = promisify(execFile)(process.execPath, ['sign-in.mjs', issuer, process.env.PORTEIRO_OUTPUT])
  const { stdout } = await run
  assert.match(stdout, /signed in[^]*refreshed[^]*signed out to https:\/\/app\.example\.test\/bye/)
})

const app = `http://127.0.0.1:${port}`
walk('a web application in a browser', {
  app,
  how: 'password',
  expected: ['password', 'consent/allow'],
  open: async () => {
    const { client_id, client_secret } = await createClient('client.json', app)
    const env = { APP_URL: app, ISSUER: issuer, CLIENT_ID: client_id, CLIENT_SECRET: client_secret }
    return start(process.execPath, ['app.mjs'], env)
  },
})
