// An MCP server whose callers sign in with Porteiro: the SDK's own server classes, and one function that checks tokens.
//
// APP_URL is its own address, ISSUER Porteiro's. An operator says which scopes it has: `porteiro apis register api.json`. It
// uses approvals up as a client of its own, CLIENT_ID and CLIENT_SECRET, which `introspected_by` of the API names.

import { createMcpExpressApp, getOAuthProtectedResourceMetadataUrl, mcpAuthMetadataRouter, requireBearerAuth } from '@modelcontextprotocol/express'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer, OAuthError, OAuthErrorCode, requireScopes } from '@modelcontextprotocol/server'
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
    throw new OAuthError(OAuthErrorCode.InvalidToken, 'this token is not for here')
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
  const who = (context) => context.http.authInfo.extra.sub
  const mine = (context) => notes.get(who(context)) ?? []
  server.registerTool('list_notes', { description: 'Your notes' }, (context) =>
    said(JSON.stringify({ sub: who(context), notes: mine(context) })),
  )
  const add = {
    description: 'Add a note',
    inputSchema: z.object({ text: z.string().max(200) }),
    // What this tool needs beyond reading: the caller is told by a 403 (RFC 6750 §3.1).
    scopeChallenge: requireScopes('notes:read', 'notes:write'),
  }
  server.registerTool('add_note', add, ({ text }, context) => {
    notes.set(who(context), [...mine(context), text])
    return said('added')
  })
  const pay = {
    description: 'Pay an invoice. Needs an approval of this payment',
    inputSchema: z.object({ invoice: z.string(), amount: z.string(), to: z.string() }),
  }
  server.registerTool('pay_invoice', pay, ({ invoice }) => said(`paid ${invoice}`))
  return server
}

const app = createMcpExpressApp()
app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: resource, scopesSupported: ['notes:read', 'notes:write'] }))
/** One message at a time, so that what is checked here is what is done. */
const single = ({ body }, response, next) => (Array.isArray(body) ? response.status(400).end() : next())
const guard = (request, response, next) =>
  requireBearerAuth({
    verifier: { verifyAccessToken },
    requiredScopes: isPayment(request) ? [] : ['notes:read'],
    resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
    expectedResource: resource,
  })(request, response, next)
const handle = toNodeHandler(createMcpHandler(tools))
app.all('/mcp', single, guard, payment, (request, response) => handle(request, response, request.body))
app.listen(new URL(APP_URL).port, '127.0.0.1')
