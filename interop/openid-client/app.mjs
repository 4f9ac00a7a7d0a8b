// A web application whose people sign in with Porteiro, with npm's openid-client. Copy what you need.
//
// APP_URL is its own address, ISSUER Porteiro's; CLIENT_ID and CLIENT_SECRET are what `porteiro clients create
// client.json` printed. Sessions are kept in memory here: an application of yours has a place for them.

import { createHash, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import * as client from 'openid-client'

const { APP_URL, ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env
const config = await client.discovery(new URL(ISSUER), CLIENT_ID, CLIENT_SECRET)

const pages = {
  '/': () => page('<a href="/private">Sign in</a>'),

  '/private': async (session) => {
    if (!session.tokens) return login(session)
    const about = await client.fetchUserInfo(config, session.tokens.access_token, session.sub)
    const token = createHash('sha256').update(session.tokens.access_token).digest('hex').slice(0, 12)
    return page(`<p id="name">${text(about.name)}</p><p id="email">${text(about.email)}</p><p id="sub">${text(about.sub)}</p>
      <p id="token">${token}</p><a href="/refresh">Refresh</a> <a href="/logout">Sign out</a>`)
  },

  '/callback': async (session, address) => {
    // Checks state, issuer, PKCE, nonce, and the ID token with its signature.
    const tokens = await client.authorizationCodeGrant(config, address, session.checks)
    session.keep({ tokens, id_token: tokens.id_token, sub: tokens.claims().sub })
    return redirect('/private')
  },

  // Every refresh token is good once. Keep the new one, and never send one twice.
  '/refresh': async (session) => {
    if (!session.tokens) return redirect('/')
    const tokens = await client.refreshTokenGrant(config, session.tokens.refresh_token)
    session.keep({ ...session, tokens })
    return redirect('/private')
  },

  '/logout': (session) => {
    const parameters = { id_token_hint: session.id_token, post_logout_redirect_uri: `${APP_URL}/bye` }
    session.keep({})
    return redirect(session.id_token ? client.buildEndSessionUrl(config, parameters) : '/bye')
  },

  '/bye': () => page('Signed out. <a href="/">Home</a>'),
}

async function login(session) {
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const checks = { pkceCodeVerifier, expectedState: client.randomState(), expectedNonce: client.randomNonce() }
  session.keep({ checks })
  return redirect(
    client.buildAuthorizationUrl(config, {
      redirect_uri: `${APP_URL}/callback`,
      scope: 'openid profile email',
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: checks.expectedState,
      nonce: checks.expectedNonce,
    }),
  )
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
