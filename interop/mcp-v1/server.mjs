// An MCP server whose callers sign in with Porteiro: the SDK's own server classes, and one function that checks tokens.
//
// APP_URL is its own address, ISSUER Porteiro's. An operator says which scopes it has: `porteiro apis register api.json`. It
// uses approvals up as a client of its own, CLIENT_ID and CLIENT_SECRET, which `introspected_by` of the API names.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js'
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js'
import { getOAuthProtectedResourceMetadataUrl, mcpAuthMetadataRouter } from '@modelcontextprotocol/sdk/server/auth/router.js'
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { z } from 'zod'
import { approval } from '../agent/express.mjs'

const { APP_URL, ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env
const resource = new URL('/mcp', APP_URL)
const oauthMetadata = await (await fetch(`${ISSUER}/.well-known/oauth-authorization-server`)).json()
const keys = createRemoteJWKSet(new URL(oauthMetadata.jwks_uri))

/** A token is ours if Porteiro signed it, for us, and it is an access token (RFC 9068 §4). */
async function verifyAccessToken(token) {
  const expected = { issuer: ISSUER, audience: resource.href, typ: 'at+jwt', algorithms: ['ES256'] }
  const { payload } = await jwtVerify(token, keys, expected).catch(() => {
    throw new InvalidTokenError('this token is not for here')
  })
  return {
    token,
    clientId: payload.client_id,
    scopes: payload.scope.split(' '),
    expiresAt: payload.exp,
    resource: new URL(payload.aud),
    extra: { sub: payload.sub, details: payload.authorization_details ?? [] },
  }
}

/** What a tool needs beyond reading. */
const needs = { add_note: ['notes:read', 'notes:write'] }
/** One message at a time, so that what is checked here is what is done. The protocol has had no batches since 2025-06-18. */
const single = ({ body }, response, next) => (Array.isArray(body) ? response.status(400).end() : next())
const guard = (request, response, next) =>
  requireBearerAuth({
    verifier: { verifyAccessToken },
    requiredScopes: isPayment(request) ? [] : (needs[request.body?.params?.name] ?? ['notes:read']),
    resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
    expectedResource: resource,
  })(request, response, next)

const isPayment = ({ body }) => body?.method === 'tools/call' && body.params?.name === 'pay_invoice'
/** A payment needs an approval of exactly this payment. */
const payment = approval((request) => isPayment(request) && { ...request.body.params.arguments, type: 'payment' }, {
  issuer: ISSUER,
  client_id: CLIENT_ID,
  client_secret: CLIENT_SECRET,
})

const notes = new Map()
const said = (text) => ({ content: [{ type: 'text', text }] })

function tools() {
  const server = new McpServer({ name: 'household', version: '1.0.0' })
  const mine = ({ authInfo }) => notes.get(authInfo.extra.sub) ?? []
  server.registerTool('list_notes', { description: 'Your notes' }, (more) =>
    said(JSON.stringify({ sub: more.authInfo.extra.sub, notes: mine(more) })),
  )
  const add = { description: 'Add a note', inputSchema: { text: z.string().max(200) } }
  server.registerTool('add_note', add, ({ text }, more) => {
    notes.set(more.authInfo.extra.sub, [...mine(more), text])
    return said('added')
  })
  const pay = {
    description: 'Pay an invoice. Needs an approval of this payment',
    inputSchema: { invoice: z.string(), amount: z.string(), to: z.string() },
  }
  server.registerTool('pay_invoice', pay, ({ invoice }) => said(`paid ${invoice}`))
  return server
}

const app = createMcpExpressApp()
app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: resource, scopesSupported: ['notes:read', 'notes:write'] }))
app.post('/mcp', single, guard, payment, async (request, response) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  const server = tools()
  response.on('close', () => server.close())
  await server.connect(transport)
  await transport.handleRequest(request, response, request.body)
})
app.all('/mcp', guard, (_request, response) => response.status(405).set('allow', 'POST').end())
app.listen(new URL(APP_URL).port, '127.0.0.1')
