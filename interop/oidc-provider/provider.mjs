// npm's oidc-provider, unmodified. A hook around its answers lets it break a rule.

import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import Provider from 'oidc-provider'

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The claims of a token. */
export const read = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url'))

const makeKey = (kid, alg, type, options) => {
  const { privateKey, publicKey } = generateKeyPairSync(type, options)
  return { alg, privateKey, publicKey, jwk: { ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } }
}
export const rsaKey = (kid) => makeKey(kid, 'RS256', 'rsa', { modulusLength: 2048 })
export const ecKey = (kid) => makeKey(kid, 'ES256', 'ec', { namedCurve: 'P-256' })

/** A token of these claims, whatever the key and the algorithm. */
export function token(claims, { alg, privateKey, jwk, secret }) {
  const input = `${encode({ alg, kid: jwk?.kid })}.${encode(claims)}`
  const signature = {
    RS256: () => sign('sha256', input, privateKey),
    ES256: () => sign('sha256', input, { key: privateKey, dsaEncoding: 'ieee-p1363' }),
    HS256: () => createHmac('sha256', secret).update(input).digest(),
    none: () => Buffer.alloc(0),
  }[alg]()
  return `${input}.${signature.toString('base64url')}`
}

/**
 * A provider at which one person is signed in. `fault` says how it misbehaves, by where: `metadata`, `keys`, `tokens`,
 * `userinfo` (each gets the body and gives another one, or changes the context) and `answer` (the address that the browser is sent
 * to). `redeemed` is how many codes it was sent.
 */
export function provider({ issuer, client_id, client_secret, redirect_uri, subject, key, others = [] }) {
  const server = new Provider(issuer, {
    clients: [{ client_id, client_secret, redirect_uris: [redirect_uri], require_auth_time: true, token_endpoint_auth_method: 'client_secret_post' }],
    jwks: { keys: [key, ...others].map(({ jwk }) => jwk) },
    cookies: { keys: ['a secret of the interop run'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, name: id, email: `${id}@acme.example`, email_verified: true }) }),
    interactions: { url: (ctx, { uid }) => `/interaction/${uid}` },
  })
  const self = { fault: {}, redeemed: 0 }

  const enter = async (ctx) => {
    const { params } = await server.interactionDetails(ctx.req, ctx.res)
    const grant = new server.Grant({ accountId: subject, clientId: params.client_id })
    grant.addOIDCScope(params.scope)
    const result = { login: { accountId: subject }, consent: { grantId: await grant.save() } }
    await server.interactionFinished(ctx.req, ctx.res, result)
    ctx.respond = false
  }

  server.use(async (ctx, next) => {
    if (ctx.path.startsWith('/interaction/')) return enter(ctx)
    if (ctx.path === '/token') self.redeemed += 1
    await next()
    const where = { '/.well-known/openid-configuration': 'metadata', '/jwks': 'keys', '/token': 'tokens', '/me': 'userinfo' }[ctx.path]
    if (self.fault[where]) ctx.body = await self.fault[where](ctx.body, ctx)
    const location = ctx.response.get('location')
    if (self.fault.answer && location?.startsWith(redirect_uri)) ctx.set('location', self.fault.answer(new URL(location)).href)
  })
  self.handle = server.callback()
  return self
}
