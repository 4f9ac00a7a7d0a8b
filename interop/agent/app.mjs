// What the person uses: they sign in, see their invoices, and hand one to their agent. The agent gets the access token.
//
// APP_URL is its own address, AGENT_URL and LEDGER_URL those of the others, ISSUER Porteiro's; CLIENT_ID and CLIENT_SECRET
// are what `porteiro clients create app.json` printed. Sessions are kept in memory here.

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import * as client from 'openid-client'

const { APP_URL, AGENT_URL, LEDGER_URL, ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env
const options = { execute: ISSUER.startsWith('http:') ? [client.allowInsecureRequests] : [] }
const authentication = client.ClientSecretBasic(CLIENT_SECRET)
const config = await client.discovery(new URL(ISSUER), CLIENT_ID, undefined, authentication, options)

const pages = {
  'GET /': async (session) => {
    if (!session.token) return page('<p><a href="/sign-in">Sign in</a></p>')
    const { invoices } = await call(session, `${LEDGER_URL}/invoices`)
    const line = ({ id, to, amount, currency, paid }) =>
      `<li>${id}: ${text(to)}, ${amount} ${currency} ${paid ? 'paid' : `<button name="invoice" value="${id}">Let my agent pay</button>`}</li>`
    return page(`<p><a href="${AGENT_URL}/connect">Connect my agent</a></p>
      <form method="post" action="/tasks"><ul>${invoices.map(line).join('')}</ul></form>`)
  },

  /** Hands the task to the agent, and with it the person's token for the ledger. */
  'POST /tasks': async (session, address, body) => {
    const { id } = await call(session, `${AGENT_URL}/tasks?invoice=${body.get('invoice')}`, 'POST')
    return redirect(`/tasks?id=${id}`)
  },

  'GET /tasks': async (session, address) => {
    const said = await call(session, `${AGENT_URL}/tasks?id=${address.searchParams.get('id')}`)
    const over = said.at(-1)?.done
    const line = ({ text: one, number }) =>
      `<p class="said">${text(one)}</p>${number ? `<p><b id="number">${number}</b> <a href="${ISSUER}/ui/account/approvals">Look at it</a></p>` : ''}`
    return page(said.map(line).join('') + (over ? '<p><a href="/">Back</a></p>' : ''), !over)
  },

  'GET /sign-in': async (session) => {
    const checks = { pkceCodeVerifier: client.randomPKCECodeVerifier(), expectedState: client.randomState() }
    session.keep({ checks })
    return redirect(
      client.buildAuthorizationUrl(config, {
        redirect_uri: `${APP_URL}/callback`,
        resource: `${LEDGER_URL}/`,
        scope: 'openid invoices:read',
        state: checks.expectedState,
        code_challenge: await client.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
        code_challenge_method: 'S256',
      }),
    )
  },

  'GET /callback': async (session, address) => {
    const tokens = await client.authorizationCodeGrant(config, address, session.checks)
    session.keep({ token: tokens.access_token })
    return redirect('/')
  },
}

async function call({ token }, address, method = 'GET') {
  const response = await fetch(address, { method, headers: { authorization: `Bearer ${token}` } })
  if (!response.ok) throw new Error(`${address} answered ${response.status}`)
  return response.json()
}

// What follows has nothing to do with Porteiro.

const sessions = new Map()
const redirect = (to) => ({ status: 303, location: String(to) })
const text = (value) => String(value).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)
const page = (body, again = false) => ({
  status: 200,
  body: `<!doctype html><meta charset="utf-8">${again ? '<meta http-equiv="refresh" content="1">' : ''}<title>Ledger</title>
    <style>body { font: 1.1rem/1.6 system-ui; max-width: 40rem; margin: 3rem auto; padding: 0 1rem } #number { font-size: 3rem }</style>
    <h1>Invoices</h1>${body}`,
})

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
  const body = new URLSearchParams((await request.toArray()).join(''))
  const make = pages[`${request.method} ${address.pathname}`] ?? (() => ({ status: 404 }))
  const failed = (error) => (console.error(error), { status: 500, body: 'Something went wrong' })
  const answer = await Promise.resolve(make({ ...sessions.get(id), keep }, address, body)).catch(failed)
  if (answer.location) response.setHeader('location', answer.location)
  response.writeHead(answer.status, { 'content-type': 'text/html' }).end(answer.body)
}).listen(new URL(APP_URL).port, '127.0.0.1')
