// Sign a person in with Porteiro, with nothing but npm's openid-client. Copy what you need.
//
// `visit` is the one thing your application brings along: it takes the address the person is to be sent to, and gives
// back the address at which they returned. In a web application these are a redirect and the request to your callback.
// Here a person without a screen does it (person.mjs).

import { pathToFileURL } from 'node:url'
import * as client from 'openid-client'

export const callback = 'https://app.example.test/callback'
export const goodbye = 'https://app.example.test/bye'

/** With a client that an operator made (`porteiro clients create`), or one that was kept. */
export const connect = (issuer, { client_id, client_secret }) =>
  client.discovery(new URL(issuer), client_id, client_secret)

/** Introduces the application by itself. Do it once, and keep `config.clientMetadata()`. */
export async function register(issuer, metadata = {}, authentication = undefined) {
  return client.dynamicClientRegistration(
    new URL(issuer),
    {
      client_name: 'Example',
      redirect_uris: [callback],
      post_logout_redirect_uris: [goodbye],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...metadata,
    },
    authentication,
  )
}

/**
 * Sends the person away and redeems what they come back with. The library checks state, issuer, PKCE, nonce, and the
 * ID token with its signature.
 *
 * `pushed`: the request goes ahead by a back channel (RFC 9126) and the browser carries a reference only.
 * `DPoP`: tokens are bound to a key (RFC 9449), from `client.getDPoPHandle`.
 */
export async function signIn(config, visit, { scope = 'openid profile email', pushed = false, DPoP, ...more } = {}) {
  const verifier = client.randomPKCECodeVerifier()
  const checks = { pkceCodeVerifier: verifier, expectedState: client.randomState(), expectedNonce: client.randomNonce() }
  const request = {
    redirect_uri: callback,
    scope,
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...more,
  }
  const address = pushed
    ? await client.buildAuthorizationUrlWithPAR(config, request, { DPoP })
    : client.buildAuthorizationUrl(config, request)
  const returned = await visit(address)
  return client.authorizationCodeGrant(config, returned, { ...checks, idTokenExpected: true }, undefined, { DPoP })
}

/** Every refresh token is good once. Keep the new one, and never send one twice. */
export const refresh = (config, tokens, options) =>
  client.refreshTokenGrant(config, tokens.refresh_token, undefined, options)

/** Ends the session at Porteiro and everything that hangs on it; gives back where the person comes out. */
export async function signOut(config, visit, tokens) {
  const state = client.randomState()
  const address = client.buildEndSessionUrl(config, {
    id_token_hint: tokens.id_token,
    post_logout_redirect_uri: goodbye,
    state,
  })
  const returned = await visit(address)
  if (returned.searchParams.get('state') !== state) throw new Error('this is not the answer to our sign-out')
  return returned
}

// node sign-in.mjs ISSUER FILE, where FILE is what `porteiro serve --dev` prints
if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { Person, mailFrom } = await import('./person.mjs')
  const [issuer, output] = process.argv.slice(2)
  const person = new Person(issuer, 'Ana', `ana-${Date.now()}@example.test`, mailFrom(output))
  await person.register()

  const config = await register(issuer)
  console.log('registered as', config.clientMetadata().client_id)
  const tokens = await signIn(config, person.visit)
  console.log('signed in', tokens.claims())
  console.log('userinfo', await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub))
  const fresh = await refresh(config, tokens)
  console.log('refreshed; the access token is good for', fresh.expiresIn(), 'seconds')
  console.log('signed out to', (await signOut(config, person.visit, tokens)).href)
}
