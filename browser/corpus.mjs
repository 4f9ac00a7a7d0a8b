// Sends the same requests every time and prints the answers, with what is random or the time replaced.

import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { randomInt } from 'node:crypto'

const [base, routes] = process.argv.slice(2)

const paths = new Set(['/', '/nowhere', '/ui', '/ui/', '/ui/sign-in', '/ui/account', '/ui/account/security', '/ui/assets/x/y', '/ui/link'])
paths.add('/.well-known/change-password').add('/.well-known/passkey-endpoints').add('/device').add('/%ff').add('/v1/../ui')
for (const [, path] of (await readFile(routes, 'utf8')).matchAll(/^\| [A-Z]+ \| `([^`]+)`/gm)) {
  paths.add(path.replace(/\{[^}]*\}/g, '00000000-0000-7000-8000-000000000000'))
}
for (const path of ['/connect/authorize?client_id=x', '/connect/authorize?response_type=code&client_id=x&redirect_uri=y', '/connect/logout?state=x']) {
  paths.add(path)
}
const accepts = [undefined, 'text/html,application/xhtml+xml,*/*;q=0.8', 'application/json', '*/*']
const bodies = [
  ['application/json', '{}'],
  ['application/json', '{'],
  ['application/json', '{"kind":"sign_in"}'],
  ['application/x-www-form-urlencoded', 'client_id=x&action=email_code%2Fsend&step=1'],
]

// Everybody comes from somewhere else: limits count addresses.
let last = randomInt(2 ** 30)
const somewhere = () => {
  last += 1
  const part = (shift) => (last >> shift) & 0xffff
  return `2001:db8:${part(16).toString(16)}:${part(0).toString(16)}::1`
}

const send = (method, path, headers, body) =>
  new Promise((resolve, reject) => {
    const sent = request(new URL(base).origin, {
      method,
      path,
      headers: { 'x-forwarded-for': somewhere(), origin: base, ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
    })
    sent.on('error', reject)
    sent.on('response', (answer) => {
      const parts = []
      answer.on('data', (part) => parts.push(part))
      answer.on('end', () => resolve([answer.statusCode, answer.rawHeaders, Buffer.concat(parts).toString()]))
    })
    sent.end(body)
  })

const masked = (text) =>
  text
    .replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'JWT')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/\b[\w-]{43}\b/g, 'RANDOM')
    .replace(/"phrase":"[a-z ]+"/g, 'PHRASE')
    .replace(/[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT/g, 'DATE')

const print = async (method, path, headers, body) => {
  const [status, answer, text] = await send(method, path, headers, body)
  const length = answer.findIndex((name) => name.toLowerCase() === 'content-length')
  if (/PHRASE/.test(masked(text)) && length >= 0) answer[length + 1] = 'LENGTH'
  console.log(masked(JSON.stringify([method, path, headers, body, status, answer]) + JSON.stringify(text)))
}

for (const path of paths) {
  for (const accept of accepts) {
    const headers = accept ? { accept } : {}
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE']) await print(method, path, headers)
    for (const method of ['POST', 'PUT', 'PATCH']) {
      for (const [type, body] of bodies) await print(method, path, { ...headers, 'content-type': type }, body)
    }
  }
}
