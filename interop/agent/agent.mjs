// The agent. A person lets it in once, at /connect; then their application hands it tasks, each with a token of theirs.
//
// AGENT_URL is its own address, APP_URL and LEDGER_URL those of the others, ISSUER Porteiro's; CLIENT_ID and CLIENT_SECRET are what
// `porteiro clients create agent.json` printed.

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import * as client from 'openid-client'
import { approving } from './approving.mjs'

const { AGENT_URL, APP_URL, LEDGER_URL, ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env
const options = { execute: ISSUER.startsWith('http:') ? [client.allowInsecureRequests] : [] }
const authentication = client.ClientSecretBasic(CLIENT_SECRET)
const config = await client.discovery(new URL(ISSUER), CLIENT_ID, undefined, authentication, options)
const resource = `${LEDGER_URL}/`

/** The task: reads the person's invoices, and pays one. `tell` is how they hear of it. */
async function work(theirs, id, tell) {
  const held = await exchange(theirs)
  const headers = { authorization: `Bearer ${held.access_token}` }
  const { invoices } = await json(await fetch(`${LEDGER_URL}/invoices`, { headers }))
  const invoice = invoices.find((one) => one.id === id)
  if (!invoice) return tell({ text: 'I cannot find this invoice.', done: true })
  tell({ text: `I read your ${invoices.length} invoices. Number ${id} is ${invoice.amount} ${invoice.currency} to ${invoice.to}.` })

  // A token to read does not pay. The API says what it needs, and the person is asked for that.
  const { sub } = await client.tokenIntrospection(config, held.access_token)
  const send = approving((details) => ask(sub, details, `Invoice ${id}`, tell))
  await json(await send(`${LEDGER_URL}/invoices/${id}/payment`, { method: 'POST', headers }))
  tell({ text: `I paid invoice ${id}.`, done: true })
}

/** RFC 8693: the person's token becomes one of ours, within what they delegated, for five minutes. */
const exchange = (theirs) =>
  client.genericGrantRequest(config, 'urn:ietf:params:oauth:grant-type:token-exchange', {
    subject_token: theirs,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    scope: 'invoices:read',
  })

/** OpenID CIBA: asks the person for exactly these details, shows them the number to pick, and waits. */
async function ask(sub, details, message, tell) {
  const asked = await client.initiateBackchannelAuthentication(config, {
    scope: 'openid',
    resource,
    login_hint: sub,
    binding_message: message,
    authorization_details: JSON.stringify(details),
  })
  tell({ text: 'I may not pay by myself. Please look at what I ask for, and approve it with this number:', number: asked.approval_number })
  return (await client.pollBackchannelAuthenticationGrant(config, asked)).access_token
}

async function json(response) {
  const body = await response.json()
  if (!response.ok) throw new Error(`the ledger answered ${response.status} ${body.error ?? ''}`)
  return body
}

const pages = {
  /** What the person consents to here is their delegation, kept at Porteiro. We keep nothing of it. */
  'GET /connect': async () => {
    const checks = { pkceCodeVerifier: client.randomPKCECodeVerifier(), expectedState: client.randomState() }
    connecting.set(checks.expectedState, checks)
    const code_challenge = await client.calculatePKCECodeChallenge(checks.pkceCodeVerifier)
    const redirect_uri = `${AGENT_URL}/callback`
    const wanted = { redirect_uri, resource, scope: 'openid invoices:read', state: checks.expectedState }
    return redirect(client.buildAuthorizationUrl(config, { ...wanted, code_challenge, code_challenge_method: 'S256' }))
  },
  'GET /callback': async (request, address) => {
    const checks = connecting.get(address.searchParams.get('state'))
    if (!checks) return { status: 400, body: 'Please start again.' }
    connecting.delete(checks.expectedState)
    await client.authorizationCodeGrant(config, address, checks)
    return redirect(APP_URL)
  },
  'POST /tasks': async (request, address) => {
    const [, theirs] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
    const [id, task] = [randomUUID(), []]
    tasks.set(id, task)
    const tell = (said) => task.push(said)
    work(theirs, address.searchParams.get('invoice'), tell).catch((error) => tell({ text: refused(error), done: true }))
    return { status: 201, body: JSON.stringify({ id }) }
  },
  'GET /tasks': (request, address) => ({ status: 200, body: JSON.stringify(tasks.get(address.searchParams.get('id')) ?? []) }),
}

const refused = ({ error, message }) => (error === 'access_denied' ? 'You said no, so I did not pay.' : `It did not work: ${message}`)

// What follows has nothing to do with Porteiro.

const [connecting, tasks] = [new Map(), new Map()]
const redirect = (to) => ({ status: 303, location: String(to) })

createServer(async (request, response) => {
  const address = new URL(request.url, AGENT_URL)
  const page = pages[`${request.method} ${address.pathname}`] ?? (() => ({ status: 404 }))
  const failed = (error) => (console.error(error), { status: 500, body: 'Something went wrong' })
  const { status, location, body } = await Promise.resolve(page(request, address)).catch(failed)
  if (location) response.setHeader('location', location)
  response.writeHead(status, { 'content-type': location ? 'text/html' : 'application/json' }).end(body)
}).listen(new URL(AGENT_URL).port, '127.0.0.1')
