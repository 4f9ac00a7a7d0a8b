// The API. Everybody with `invoices:read` reads; a payment needs a token that was approved for exactly this payment, once.
//
// LEDGER_URL is its own address, ISSUER Porteiro's. An operator says what it has: `porteiro apis register ledger.json`. It uses
// approvals up as a client of its own, CLIENT_ID and CLIENT_SECRET, which `introspected_by` in that file names.

import { createServer } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { challenge, useUp } from './approving.mjs'

const { LEDGER_URL, ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env
const keys = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`))

const invoices = [
  { id: '7', to: 'Padaria Bela Vista', amount: '42.00', currency: 'EUR' },
  { id: '8', to: 'Northwind Power', amount: '118.50', currency: 'EUR' },
  { id: '9', to: 'Costa & Filhos', amount: '1250.00', currency: 'EUR' },
]

createServer(async (request, response) => {
  const { status, challenge, ...body } = await answer(request).catch((error) => ({ status: 500, error: String(error) }))
  if (challenge) response.setHeader('www-authenticate', challenge)
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}).listen(new URL(LEDGER_URL).port, '127.0.0.1')

async function answer(request) {
  const token = await verified(request)
  if (!token) return { status: 401, challenge: 'Bearer error="invalid_token"' }
  const [, id, verb] = /^\/invoices(?:\/(\d+)\/(payment))?$/.exec(request.url) ?? []
  const invoice = invoices.find((one) => one.id === id)
  if (request.method === 'GET' && request.url === '/invoices') return list(token)
  if (request.method === 'POST' && verb && invoice) return pay(token, invoice)
  return { status: 404 }
}

/** What a token says, if Porteiro signed it, for us, and it is an access token (RFC 9068 §4). */
async function verified(request) {
  const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
  const expected = { issuer: ISSUER, audience: `${LEDGER_URL}/`, typ: 'at+jwt', algorithms: ['ES256'] }
  return jwtVerify(token ?? '', keys, expected).then(({ payload }) => ({ ...payload, token }), () => undefined)
}

function list({ scope = '' }) {
  if (scope.split(' ').includes('invoices:read')) return { status: 200, invoices }
  return { status: 403, challenge: 'Bearer error="insufficient_scope", scope="invoices:read"' }
}

async function pay(token, invoice) {
  const { id, amount, currency, to } = invoice
  const payment = { type: 'payment', invoice: id, amount, currency, to }
  // Exactly this payment: not a smaller one, and not one to somebody else.
  const approved = token.authorization_details?.some((one) => isDeepStrictEqual(one, payment))
  if (!approved) return { status: 401, challenge: challenge(payment) }
  const server = { issuer: ISSUER, client_id: CLIENT_ID, client_secret: CLIENT_SECRET }
  const isFirst = await useUp(token.token, server)
  if (!isFirst) return { status: 401, challenge: 'Bearer error="invalid_token", error_description="used before"' }
  if (invoice.paid) return { status: 409, error: 'this invoice is paid' }
  invoice.paid = { for: token.sub, by: token.act.sub }
  return { status: 200, ...invoice }
}
