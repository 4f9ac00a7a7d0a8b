// A person and their browser, without a screen: keeps cookies, speaks as a proxy that ended TLS would hand it on.

import { createHash, randomBytes } from 'node:crypto'
import http from 'node:http'

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })

/** What a proxy adds, for every product alike. */
export const forwarded = (host, address = '203.0.113.7') => ({
  host,
  'x-forwarded-for': address,
  'x-forwarded-host': host,
  'x-forwarded-port': '443',
  'x-forwarded-proto': 'https',
})

/** One request on loopback; resolves to `{ status, headers, text, json() }`. */
export function send(port, method, path, { headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, method, path, agent, headers: sized(headers, body) })
    // A server may close a connection that was idle just when it is used again: then once more on a new one.
    request.on('error', (error) => (request.reusedSocket ? resolve(send(port, method, path, { headers, body })) : reject(error)))
    request.on('response', (response) => {
      const chunks = []
      response.on('error', reject).on('data', (chunk) => chunks.push(chunk)).on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ status: response.statusCode, headers: response.headers, text, json: () => JSON.parse(text) })
      })
    })
    request.end(body)
  })
}

const sized = (headers, body) => (body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) })

/** `send` that takes nothing but success. */
export async function must(port, method, path, options) {
  const answer = await send(port, method, path, options)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 500)}`)
  return answer
}

export const form = (fields) => new URLSearchParams(fields).toString()
export const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
export const JSON_TYPE = { 'content-type': 'application/json' }
export const basic = (id, secret) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
})

export class Browser {
  cookies = new Map()

  constructor(port, host, number) {
    Object.assign(this, { port, host, number })
    // Everybody sits somewhere else.
    this.address = `198.${18 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`
  }

  async go(method, address, { headers = {}, body } = {}) {
    const url = new URL(address, `https://${this.host}`)
    const answer = await send(this.port, method, url.pathname + url.search, {
      headers: {
        ...forwarded(this.host, this.address),
        cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...headers,
      },
      body,
    })
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)
      if (value) this.cookies.set(name, value)
      else this.cookies.delete(name)
    }
    return answer
  }
}

/** A code challenge and its verifier (RFC 7636). */
export function pkce() {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** The code in the address a browser is sent to in the end. */
export function codeIn(address) {
  const code = new URL(address).searchParams.get('code')
  if (!code) throw new Error(`no code in ${address}`)
  return code
}

/** Runs `work(index)` for every index below `count`, `width` at a time, until `deadline`; the results. */
export async function many(count, width, work, deadline = Infinity) {
  const results = []
  let next = 0
  const worker = async () => {
    while (next < count && Date.now() < deadline) results.push(await work(next++))
  }
  await Promise.all(Array.from({ length: width }, worker))
  return results
}
