// Each way in which a provider, or somebody between it and the browser, breaks a rule; and what the server calls it.

import { setTimeout as sleep } from 'node:timers/promises'
import { read, rsaKey, token } from './provider.mjs'

const now = () => Math.floor(Date.now() / 1000)

/** The ID token says something else, signed by the provider itself. */
const claiming = (key, change) => ({ tokens: (body) => ({ ...body, id_token: token({ ...read(body.id_token), ...change() }, key) }) })

/** The same claims, signed in another way. */
const signed = (key) => ({ tokens: (body) => ({ ...body, id_token: token(read(body.id_token), key) }) })

/** The authorization response says something else. */
const answering = (change) => ({
  answer: (url) => {
    change(url.searchParams)
    return url
  },
})

const swapped = (body) => {
  const [header, , signature] = body.id_token.split('.')
  const claims = Buffer.from(JSON.stringify({ ...read(body.id_token), sub: 'somebody-else' })).toString('base64url')
  return { ...body, id_token: `${header}.${claims}.${signature}` }
}

const redirected = (body, ctx) => {
  ctx.status = 302
  ctx.set('location', '/jwks')
  return ''
}

/** `key` is the one of the provider, `other` one of another algorithm that it publishes too. */
export const signIns = (key, other, client_id) => {
  const unpinned = "the ID token is not signed with the connection's algorithm"
  const unread = 'the provider did not exchange the code'
  return [
    ['another issuer in the ID token', claiming(key, () => ({ iss: 'https://other.example' })), 'the ID token is of another issuer'],
    ['an ID token for another client', claiming(key, () => ({ aud: 'another' })), 'the ID token is for another client'],
    ['an ID token for two clients', claiming(key, () => ({ aud: [client_id, 'another'] })), 'the ID token is for another client'],
    ['another nonce', claiming(key, () => ({ nonce: 'another' })), 'the ID token answers another request'],
    ['no nonce', claiming(key, () => ({ nonce: undefined })), 'the ID token answers another request'],
    ['an ID token that has expired', claiming(key, () => ({ exp: now() - 60 })), 'the ID token has expired or is too old'],
    ['an ID token of the past', claiming(key, () => ({ iat: now() - 400 })), 'the ID token has expired or is too old'],
    ['an ID token of the future', claiming(key, () => ({ iat: now() + 400 })), 'the ID token is from the future'],
    ['no subject', claiming(key, () => ({ sub: undefined })), 'the ID token has no usable subject'],
    ['a swapped subject', { tokens: swapped }, 'the signature of the ID token is wrong'],
    ['no signature (alg none)', signed({ alg: 'none' }), unpinned],
    ['its public key as a shared secret', signed({ alg: 'HS256', secret: key.publicKey.export({ type: 'spki', format: 'pem' }) }), unpinned],
    ['another algorithm that it publishes a key for', signed(other), unpinned],
    ['a key that it does not publish', signed(rsaKey('unknown')), 'the ID token is signed with an unknown key'],
    ['no ID token', { tokens: ({ id_token, ...body }) => body }, 'the provider returned no ID token'],
    ['a token endpoint that is slow', { tokens: async (body) => (await sleep(4_000), body) }, unread],
    ['a huge answer of the token endpoint', { tokens: (body) => ({ ...body, padding: 'x'.repeat(100_000) }) }, unread],
    ['a token endpoint that redirects', { tokens: redirected }, unread],
    ['an answer that names another issuer', answering((said) => said.set('iss', 'https://other.example')), 'the answer names another issuer'],
    ['an answer without the issuer that is announced', answering((said) => said.delete('iss')), 'the answer names another issuer'],
    ['the answer to another request', answering((said) => said.set('state', `${said.get('state').slice(0, -4)}AAAA`)), 'the answer belongs to another request'],
    ['a refusal of its own', answering((said) => (said.delete('code'), said.set('error', 'access_denied'))), 'the provider refused'],
    ["somebody else's code", answering((said) => said.set('code', 'stolen')), unread],
  ]
}

/** ID tokens without an address, what its userinfo endpoint answers instead, and what the organization reads about it. */
export const newcomers = (key) => {
  const { tokens } = claiming(key, () => ({ email: undefined, email_verified: undefined }))
  const unread = /^the directory asserts no address.*the userinfo endpoint of the directory could not be read/
  const failing = (body, ctx) => {
    ctx.status = 500
    return {}
  }
  const signedOne = (body, ctx) => {
    ctx.type = 'application/jwt'
    return token(body, key)
  }
  return [
    ['userinfo about another subject', (body) => ({ ...body, sub: 'somebody-else' }), /answered about another person/],
    ['userinfo without a subject', ({ sub, ...body }) => body, /answered about another person/],
    ['a userinfo endpoint that fails', failing, unread],
    ['a userinfo endpoint that is slow', async (body) => (await sleep(4_000), body), unread],
    ['a huge answer of the userinfo endpoint', (body) => ({ ...body, padding: 'x'.repeat(100_000) }), unread],
    ['a signed answer of the userinfo endpoint', signedOne, unread],
  ].map(([name, userinfo, words]) => [name, { tokens, userinfo }, words])
}

/** What its documents say instead, the step of the connection test that notices it, and what the explanation says. */
export const documents = (issuer) => {
  const saying = (change) => ({ metadata: (body) => ({ ...body, ...change }) })
  return [
    ['another issuer', saying({ issuer: `${issuer}/` }), 'metadata_content', /Both must be equal, also in the last slash/],
    ['no token endpoint', saying({ token_endpoint: undefined }), 'metadata_content', /token_endpoint is missing or not an absolute URL/],
    ['a token endpoint without TLS', saying({ token_endpoint: 'http://login.example/token' }), 'metadata_content', /token_endpoint/],
    ['no such algorithm', saying({ id_token_signing_alg_values_supported: ['HS256'] }), 'metadata_content', /configured algorithm RS256/],
    ['no codes', saying({ response_types_supported: ['id_token'] }), 'metadata_content', /the response type code/],
    ['no PKCE', saying({ code_challenge_methods_supported: ['plain'] }), 'metadata_content', /PKCE with S256/],
    ['keys that are elsewhere', saying({ jwks_uri: `${issuer}/nothing` }), 'keys', /could not be fetched/],
    // Noticed when they are fetched, or earlier because they are not at the issuer's host.
    ['keys in a place that only this network reaches', saying({ jwks_uri: 'https://10.0.0.1/jwks' }), 'keys|metadata_content', /10\.0\.0\.1/],
    ['keys of another algorithm', { keys: () => ({ keys: [] }) }, 'key', /None of the provider's keys is for RS256/],
    ['a huge document', saying({ padding: 'x'.repeat(70_000) }), 'metadata', /at most 64 KiB/],
    ['a slow document', { metadata: async (body) => (await sleep(4_000), body) }, 'metadata', /within three seconds/],
  ]
}
