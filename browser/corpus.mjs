// Sends the same requests every time and prints the answers, with what is random or the time replaced.

import { readFile, readdir } from 'node:fs/promises'
import { request } from 'node:http'
import { randomInt } from 'node:crypto'

// ROUTES: docs/routes.md. SCREENS: the source of the crate, whose router says which addresses are its own.
const [base, routes, screens] = process.argv.slice(2)

const found = (text, pattern) => [...text.matchAll(pattern)]

const ownPaths = async () => {
  const files = (await readdir(screens, { recursive: true })).filter((name) => name.endsWith('.rs')).sort()
  const sources = await Promise.all(files.map((name) => readFile(`${screens}/${name}`, 'utf8')))
  const constants = new Map(sources.flatMap((text) => found(text, /const (\w+): &str = "([^"]+)"/g)).map(([, name, value]) => [name, value]))
  const patterns = sources.flatMap((text) => found(text, /\.route\(\s*(?:"([^"]+)"|(\w+))/g)).map(([, path, name]) => path ?? constants.get(name))
  const pages = found(await readFile(`${screens}/account/pages.rs`, 'utf8'), /Self::\w+ => "([a-z]+)"/g).map(([, name]) => name)
  const names = { page: [...pages, 'nothing'], file: ['screens.css', 'screens.js', 'mark.svg', 'logo'], version: ['x'], colours: ['7a1f5c-none.css', 'x'] }
  const filled = (path) => {
    const [whole, name] = path.match(/\{(\w+)\}/) ?? []
    if (!whole) return [path]
    return (names[name] ?? ['00000000-0000-7000-8000-000000000000']).flatMap((value) => filled(path.replace(whole, value)))
  }
  if (pages.length < 2 || patterns.length < 10 || patterns.includes(undefined)) throw new Error(`the router of ${screens} cannot be read`)
  return patterns.flatMap(filled)
}

const paths = new Set(['/nowhere', '/ui', '/ui/', '/v1/../ui', ...(await ownPaths())])
for (const [, path] of found(await readFile(routes, 'utf8'), /^\| [A-Z]+ \| `([^`]+)`/gm)) {
  paths.add(path.replace(/\{[^}]*\}/g, '00000000-0000-7000-8000-000000000000'))
}
for (const path of ['/connect/authorize?client_id=x', '/connect/authorize?response_type=code&client_id=x&redirect_uri=y', '/connect/logout?state=x']) {
  paths.add(path)
}
// Malformed: no UTF-8, no percent-encoding, a segment that would climb, more than any address of ours has (16 KiB at most).
for (const path of ['/%ff', '/%zz', '/ui/flow/%ff', '/ui/flow/%zz', '/ui/account/%', '/ui/flow/%2e%2e%2f', '/device?user_code=%zz', '//ui/account']) {
  paths.add(path)
}
for (const length of [4, 17]) paths.add(`/ui/flow/${'a'.repeat(length * 1024)}`)
const accepts = [undefined, 'text/html,application/xhtml+xml,*/*;q=0.8', 'application/json', '*/*']
const bodies = [
  ['application/json', '{}'],
  ['application/json', '{'],
  ['application/json', '{"kind":"sign_in"}'],
  ['application/x-www-form-urlencoded', 'client_id=x&action=email_code%2Fsend&step=1'],
  // Broken encoding, and a type nobody takes.
  ['application/x-www-form-urlencoded', 'action=%zz&step=%ff%fe&=&&client_id'],
  ['text/plain', 'action=cancel&step=1'],
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
    .replace(/(?<![\w-])[\w-]{43}(?![\w-])/g, 'RANDOM')
    .replace(/phrase\\*":\\*"[a-z ]+/g, 'PHRASE')
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
    for (const [type, body] of bodies) await print('POST', path, { ...headers, 'content-type': type }, body)
    for (const method of ['PUT', 'PATCH']) await print(method, path, { ...headers, 'content-type': 'application/json' }, '{}')
  }
}
