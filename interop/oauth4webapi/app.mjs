// A web application that introduces itself to Porteiro and signs people in, with npm's oauth4webapi. Copy what you need.
//
// APP_URL is its own address, ISSUER Porteiro's. It registers when it starts (RFC 7591) and has no secret. An application
// of yours registers once and keeps what it was given; sessions are kept in memory here.

import { createHash, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import * as oauth from 'oauth4webapi'

const { APP_URL, ISSUER } = process.env
const issuer = new URL(ISSUER)
const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer))
const client = await oauth.processDynamicClientRegistrationResponse(
  await oauth.dynamicClientRegistrationRequest(as, {
    client_name: 'Example',
    redirect_uris: [`${APP_URL}/callback`],
    post_logout_redirect_uris: [`${APP_URL}/bye`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    id_token_signed_response_alg: 'ES256',
  }),
)
const authentication = oauth.None()

const pages = {
  '/': () => page('<a href="/private">Sign in</a>'),

  '/private': async (session) => {
    if (!session.tokens) return login(session)
    const response = await oauth.userInfoRequest(as, client, session.tokens.access_token)
    const about = await oauth.processUserInfoResponse(as, client, session.sub, response)
    const token = createHash('sha256').update(session.tokens.access_token).digest('hex').slice(0, 12)
    return page(`<p id="name">${text(about.name)}</p><p id="email">${text(about.email)}</p><p id="sub">${text(about.sub)}</p>
      <p id="token">${token}</p><a href="/refresh">Refresh</a> <a href="/logout">Sign out</a>`)
  },

  '/callback': async (session, address) => {
    const { verifier, state, nonce } = session.checks
    const parameters = oauth.validateAuthResponse(as, client, address, state)
    const response = await oauth.authorizationCodeGrantRequest(
      as, client, authentication, parameters, `${APP_URL}/callback`, verifier,
    )
    const options = { expectedNonce: nonce, requireIdToken: true }
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, options)
    // It came straight from the token endpoint; this checks the signature too.
    await oauth.validateApplicationLevelSignature(as, response)
    session.keep({ tokens, id_token: tokens.id_token, sub: oauth.getValidatedIdTokenClaims(tokens).sub })
    return redirect('/private')
  },

  // Every refresh token is good once. Keep the new one, and never send one twice.
  '/refresh': async (session) => {
    if (!session.tokens) return redirect('/')
    const response = await oauth.refreshTokenGrantRequest(as, client, authentication, session.tokens.refresh_token)
    session.keep({ ...session, tokens: await oauth.processRefreshTokenResponse(as, client, response) })
    return redirect('/private')
  },

  '/logout': (session) => {
    const address = new URL(as.end_session_endpoint)
    address.searchParams.set('id_token_hint', session.id_token)
    address.searchParams.set('post_logout_redirect_uri', `${APP_URL}/bye`)
    session.keep({})
    return redirect(session.id_token ? address : '/bye')
  },

  '/bye': () => page('Signed out. <a href="/">Home</a>'),
}

async function login(session) {
  const verifier = oauth.generateRandomCodeVerifier()
  const checks = { verifier, state: oauth.generateRandomState(), nonce: oauth.generateRandomNonce() }
  session.keep({ checks })
  const address = new URL(as.authorization_endpoint)
  address.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: `${APP_URL}/callback`,
    response_type: 'code',
    scope: 'openid profile email',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: checks.state,
    nonce: checks.nonce,
  })
  return redirect(address)
}

// What follows has nothing to do with signing in.

const sessions = new Map()
const page = (body) => ({ status: 200, body: `<!doctype html><title>App</title>${body}` })
const redirect = (to) => ({ status: 303, location: String(to) })
const text = (value) => String(value).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)

createServer(async (request, response) => {
  const address = new URL(request.url, APP_URL)
  const id = /(?:^|; )app=([^;]+)/.exec(request.headers.cookie ?? '')?.[1]
  // A new name for every change: what was known before signing in opens nothing afterwards.
  const keep = (what) => {
    sessions.delete(id)
    const next = randomUUID()
    sessions.set(next, what)
    response.setHeader('set-cookie', `app=${next}; Path=/; HttpOnly; SameSite=Lax`)
  }
  try {
    const answer = (await pages[address.pathname]?.({ ...sessions.get(id), keep }, address)) ?? { status: 404, body: 'Not here' }
    if (answer.location) response.setHeader('location', answer.location)
    response.writeHead(answer.status, { 'content-type': 'text/html' }).end(answer.body)
  } catch (error) {
    console.error(error)
    response.writeHead(500).end('Something went wrong')
  }
}).listen(new URL(APP_URL).port, '127.0.0.1')
