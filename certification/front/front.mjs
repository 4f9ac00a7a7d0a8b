// A TLS front for tests only: it completes requests that lack PKCE, and hands on everything else as it is.
//
// The OpenID plans of the conformance suite send no PKCE (one module apart), and Porteiro refuses every authorization
// request without it (docs/decisions/0021). So that their other checks can be run with the suite's own clients and an
// unmodified server, this front stands at the issuer's address and does what the suite's client would have to do:
//
// 1. an authorization request without `code_challenge` and without a pushed `request_uri` gets one;
// 2. a token request with a code and without `code_verifier` gets the verifier that fits.
//
// A challenge is good once (docs/decisions/0021), so every request gets a new one; the verifier of a client's latest
// request is the one its next code needs. Never use this elsewhere: it takes the proof away from who should hold it.

import { createHash, randomBytes } from 'node:crypto'
import https from 'node:https'

const PUSHED = 'urn:ietf:params:oauth:request_uri:'
const FORM = 'application/x-www-form-urlencoded'

/** The latest verifier by client. */
const verifiers = new Map()

/** An authorization request as the suite should have sent it. */
export const completeRequest = (text) => {
  const asked = new URLSearchParams(text)
  const client = asked.get('client_id')
  if (!client || asked.has('code_challenge') || asked.get('request_uri')?.startsWith(PUSHED)) return text
  const verifier = randomBytes(32).toString('base64url')
  verifiers.set(client, verifier)
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return `${text}&code_challenge=${challenge}&code_challenge_method=S256`
}

/** A token request as the suite should have sent it. `authorization` is the header of that name. */
export const completeToken = (text, authorization) => {
  const asked = new URLSearchParams(text)
  if (asked.get('grant_type') !== 'authorization_code' || asked.has('code_verifier')) return text
  const verifier = verifiers.get(clientOf(asked, authorization))
  return verifier ? `${text}&code_verifier=${verifier}` : text
}

const clientOf = (asked, authorization = '') => {
  const basic = /^basic (.+)$/i.exec(authorization)
  // RFC 6749 §2.3.1: the id is form-encoded before it goes into the header.
  if (basic) return new URLSearchParams(`id=${Buffer.from(basic[1], 'base64').toString().split(':')[0]}`).get('id')
  const assertion = asked.get('client_assertion')
  if (assertion) return JSON.parse(Buffer.from(assertion.split('.')[1], 'base64url')).sub
  return asked.get('client_id')
}

/** Starts the front. `tls`: `key` and `cert`; `to`: the port of the server; `ca`: who signed its certificate. */
export const start = ({ tls, port, to, ca }) => {
  const server = https.createServer(tls, async (request, response) => {
    try {
      const chunks = []
      for await (const chunk of request) chunks.push(chunk)
      forward(request, response, Buffer.concat(chunks), to, ca)
    } catch (error) {
      response.writeHead(502).end(String(error))
    }
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', () => resolve(server))
  })
}

const forward = (request, response, sent, to, ca) => {
  const [path, query] = request.url.split(/\?(.*)/s)
  const form = request.method === 'POST' && request.headers['content-type']?.startsWith(FORM)
  let url = request.url
  let body = sent
  if (path === '/connect/authorize' && request.method === 'GET' && query) url = `${path}?${completeRequest(query)}`
  if (path === '/connect/authorize' && form) body = Buffer.from(completeRequest(sent.toString()))
  if (path === '/connect/token' && form) {
    body = Buffer.from(completeToken(sent.toString(), request.headers.authorization))
  }
  const headers = { ...request.headers }
  delete headers['transfer-encoding']
  if (body.length) headers['content-length'] = body.length
  const onward = https.request(
    { host: '127.0.0.1', servername: 'localhost', port: to, ca, method: request.method, path: url, headers },
    (answer) => {
      response.writeHead(answer.statusCode, answer.rawHeaders)
      answer.pipe(response)
    },
  )
  onward.on('error', (error) => response.writeHead(502).end(String(error)))
  onward.end(body)
}
