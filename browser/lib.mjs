// A browser, its person, their mailbox and their phone.

import { execFile } from 'node:child_process'
import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { deflateSync } from 'node:zlib'
import { chromium } from 'playwright-core'

export const issuer = process.env.PORTEIRO_ISSUER

export const launch = (more = {}) =>
  chromium.launch({ executablePath: process.env.PORTEIRO_CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'], ...more })

/** One browser per file of tests, ready before the first. */
export const shared = (before, after) => {
  const one = {}
  before(async () => (one.browser = await launch()))
  after(() => one.browser?.close())
  return one
}

let network = 0
/** Somewhere else on the network each time: limits count addresses. */
export const elsewhere = () => {
  network += 1
  return { 'x-forwarded-for': `2001:db8:${(process.pid & 0xffff).toString(16)}:${network.toString(16)}::1` }
}

/** What the browser complains about: its policy, or a script that failed. */
const complaints = (page, reports) => {
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/i.test(message.text())) reports.push(`${page.url()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => reports.push(`${page.url()}: ${error}`))
}

/** A browser of its own. `lang` may be a language nobody speaks. */
export const visitor = async ({ browser }, { lang = 'en', script = true, ...rest } = {}) => {
  const context = await browser.newContext({
    locale: lang === 'pt' ? 'pt-BR' : 'en-US',
    javaScriptEnabled: script,
    extraHTTPHeaders: elsewhere(),
    ...rest,
  })
  context.setDefaultTimeout(45_000)
  const reports = []
  context.on('page', (page) => complaints(page, reports))
  const page = await context.newPage()
  if (/-X[AB]$/.test(lang)) await open(page, `/ui/sign-in?lang=${lang}`)
  return { context, page, reports, script }
}

export const someone = (name = 'Ana Souza') => ({
  name,
  address: `${name.split(' ')[0].toLowerCase()}.${randomUUID().slice(0, 8)}@example.test`,
  password: 'a quiet evening by the river',
})

/** A browser that is slow enough paints a page before it has read it all. */
export const slow = async ({ context, page }) => {
  const session = await context.newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: 6 })
}

/** The newest code mailed to an address, from what `porteiro serve --dev` prints. */
export const mailed = async (address, after = 0) => {
  for (let tries = 0; tries < 600; tries += 1) {
    const mails = (await readFile(process.env.PORTEIRO_OUTPUT, 'utf8')).split(`--- mail to ${address} ---\nSubject: `)
    const codes = mails.slice(1).map((mail) => /^\d{6}/.exec(mail)?.[0]).filter(Boolean)
    if (codes.length > after) return { code: codes.at(-1), count: codes.length, text: mails.at(-1) }
    await sleep(100)
  }
  throw new Error(`no mail to ${address}`)
}

/** What `porteiro serve --dev` printed for an address or a number, as the pattern finds it; not the first `after`. */
export const printed = async (to, pattern, after = 0) => {
  for (let tries = 0; tries < 600; tries += 1) {
    const letters = (await readFile(process.env.PORTEIRO_OUTPUT, 'utf8')).split(` to ${to} ---\n`).slice(1)
    const found = letters.map((letter) => pattern.exec(letter.split('\n---\n')[0])?.[1]).filter(Boolean)
    if (found.length > after) return found.at(-1)
    await sleep(100)
  }
  throw new Error(`nothing for ${to}`)
}

const newest = async (folder, address) => {
  const found = []
  for (const name of await readdir(folder)) {
    const text = await readFile(join(folder, name), 'utf8')
    if (text.includes(`Envelope-to: ${address}`)) found.push([name, text])
  }
  return found.sort().map(([, text]) => text)
}

/** The newest mail a real server took for an address: its code, and the address of its link. */
export const delivered = async (address) => {
  for (let tries = 0; tries < 600; tries += 1) {
    const mails = await newest(join(process.env.PORTEIRO_MAILDIR, 'new'), address)
    if (mails.length) {
      const text = mails.at(-1).replace(/=\r?\n/g, '').replace(/=([0-9A-F]{2})/g, (_, byte) => String.fromCharCode(Number.parseInt(byte, 16)))
      return { code: /^Subject: (\d{6})/m.exec(text)?.[1], link: /http:\S+\/ui\/link#[\w.-]+/.exec(text)?.[0], text }
    }
    await sleep(100)
  }
  throw new Error(`no mail to ${address}`)
}

/** Asks the database, as somebody who runs the service could. */
export const sql = async (statement, database = process.env.PORTEIRO_DATABASE) => {
  const { stdout } = await promisify(execFile)('psql', ['-XAtq', '-v', 'ON_ERROR_STOP=1', database, '-c', statement])
  return stdout.trim()
}

/** An authenticator in software, as DevTools has it. */
export const authenticator = async ({ context, page }) => {
  const session = await context.newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  const about = (method, more) => session.send(`WebAuthn.${method}`, { authenticatorId, ...more })
  return {
    credentials: async () => (await about('getCredentials')).credentials,
    present: (enabled) => about('setAutomaticPresenceSimulation', { enabled }),
    verified: (isUserVerified) => about('setUserVerified', { isUserVerified }),
  }
}

/** A web server of a client's own, with what it was sent. `answer(path, body)` is a page, or where to go on to. */
export const website = async (answer = () => '<title>App</title>Hello', create = createServer) => {
  const seen = []
  const server = create(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    if (request.url !== '/favicon.ico') seen.push({ method: request.method, url: request.url, body })
    const text = answer(request.url, body)
    if (/^https?:/.test(text)) response.writeHead(302, { location: text }).end()
    else response.writeHead(200, { 'content-type': 'text/html' }).end(text)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return { seen, port: server.address().port, close: () => server.closeAllConnections() ?? server.close() }
}

/** RFC 6238, as an authenticator app does it at one step of 30 seconds. */
export const totp = (secret, step) => {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret.replace(/[\s=]/g, '')].map((c) => letters.indexOf(c).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const hash = createHmac('sha1', key).update(counter).digest()
  const at = hash[19] & 15
  return String((hash.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** What a page tells the test comes a moment after what it shows: waits until it is so, or for good ten seconds. */
export const eventually = async (so) => {
  for (let tries = 0; tries < 200 && !(await so()); tries += 1) await sleep(50)
}

/** Where the cursor is. A browser moves it to a field of the new page with the first frame it draws. */
export const focused = async (page, selector) => {
  const there = () => page.evaluate((selector) => document.activeElement?.matches(selector), selector)
  await eventually(there)
  return there()
}

/** Does what leads to another page, and waits for that. Where none comes, it says what was there instead. */
export const onward = async (page, act) => {
  try {
    await Promise.all([page.waitForNavigation(), act()])
  } catch (error) {
    const shown = await page.locator('body').innerText({ timeout: 5_000 }).catch(String)
    throw new Error(`${error.message}\nat ${page.url()}:\n${shown}`, { cause: error })
  }
}

/** Presses the button of the flow's action, and waits for the page after it. */
export const press = (page, action) => follow(page, `button[name=action][value="${action}"]`)

/** Types a code. With script the page goes on by itself. */
export const enter = async ({ page, script }, code, action) => {
  if (script) return onward(page, () => page.fill('#code', code))
  await page.fill('#code', code)
  await press(page, action)
}

/** Registers up to the offer of a passkey: address, code and name. */
export const introduced = async (visitor, person) => {
  const { page } = visitor
  await open(page, '/ui/register')
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  await enter(visitor, (await mailed(person.address)).code, 'email_code/check')
  await page.fill('#display_name', person.name)
  await press(page, 'profile/set')
}

export const open = (page, path) => page.goto(new URL(path, issuer).href)

/** Follows a link or presses a plain button, and waits for the page after it. */
export const follow = (page, selector) => onward(page, () => page.locator(selector).first().click())

const parameters = (client, more) =>
  new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: client.redirect_uri,
    scope: 'openid profile email',
    state: 'the-state',
    code_challenge: createHash('sha256').update(randomUUID()).digest('base64url'),
    code_challenge_method: 'S256',
    ...more,
  })

/** An authorization request of a client, ready for a browser. */
export const request = (client, more = {}) => `/connect/authorize?${parameters(client, more)}`

/** The same, said to us beforehand (RFC 9126). */
export const pushed = async (client, more = {}) => {
  const body = parameters(client, more)
  const response = await fetch(new URL('/connect/par', issuer), { method: 'POST', headers: elsewhere(), body })
  const { request_uri, ...problem } = await response.json()
  if (!request_uri) throw new Error(JSON.stringify(problem))
  return `/connect/authorize?${new URLSearchParams({ client_id: client.client_id, request_uri })}`
}

/** A device without a browser. It asks from the network of `page`, or from one of its own. `row` finds it by SQL. */
export const device = async (page) => {
  const client_id = process.env.PORTEIRO_DEVICE_CLIENT_ID
  const asked = { client_id, scope: 'openid profile email' }
  const address = new URL('/connect/device', issuer).href
  const response = page
    ? await page.request.post(address, { form: asked })
    : await fetch(address, { method: 'POST', body: new URLSearchParams(asked), headers: elsewhere() })
  const codes = await response.json()
  if (!codes.user_code) throw new Error(JSON.stringify(codes))
  const poll = async () => {
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    const body = new URLSearchParams({ client_id, grant_type, device_code: codes.device_code })
    return (await fetch(new URL('/connect/token', issuer), { method: 'POST', body })).json()
  }
  const secret = Buffer.from(codes.device_code.slice('pt_dc_'.length), 'base64url').subarray(1, 33)
  return { ...codes, poll, row: `secret_hash = '\\x${createHash('sha256').update(secret).digest('hex')}'` }
}

/** A client that registers itself: nobody has checked it. */
export const stranger = async (redirect_uri, more = {}, at = issuer) => {
  const response = await fetch(new URL('/connect/register', at), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...elsewhere() },
    body: JSON.stringify({
      client_name: 'Calendar helper',
      redirect_uris: [redirect_uri],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code'],
      ...more,
    }),
  })
  if (!response.ok) throw new Error(await response.text())
  return { ...(await response.json()), redirect_uri }
}

/** What a client keeps and what it shows (RFC 7636). */
export const pair = () => {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** Tokens for a code, as a client without a secret gets them. */
export const redeemed = async (client, code, code_verifier) => {
  const { client_id, redirect_uri } = client
  const body = new URLSearchParams({ grant_type: 'authorization_code', code, code_verifier, client_id, redirect_uri })
  const response = await fetch(new URL('/connect/token', issuer), { method: 'POST', headers: elsewhere(), body })
  if (!response.ok) throw new Error(await response.text())
  return response.json()
}

/** A picture as somebody would upload it: a ring and a bar, as PNG. */
export const logo = (width = 132, height = 48) => {
  const table = Array.from({ length: 256 }, (_, n) => {
    for (let k = 0; k < 8; k += 1) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1
    return n
  })
  const crc = (bytes) => ~bytes.reduce((sum, byte) => table[(sum ^ byte) & 255] ^ (sum >>> 8), ~0) >>> 0
  const chunk = (name, data) => {
    const named = Buffer.concat([Buffer.from(name), data])
    const ends = [Buffer.alloc(4), Buffer.alloc(4)]
    ends[0].writeUInt32BE(data.length)
    ends[1].writeUInt32BE(crc(named))
    return Buffer.concat([ends[0], named, ends[1]])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 6, 0, 0, 0], 8)
  const rows = Buffer.alloc((width * 4 + 1) * height)
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const away = Math.hypot(x - height / 2, y - height / 2)
      const drawn = (away < height / 2 - 2 && away > height / 4) || (x > height + 8 && Math.abs(y - height / 2) < height / 6)
      if (drawn) rows.set([122, 31, 92, 255], y * (width * 4 + 1) + 1 + x * 4)
    }
  }
  const start = Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10])
  return Buffer.concat([start, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))])
}

/** Gives an organization its look, with a key of somebody who may. */
export const dress = async (organization, key) => {
  const path = `/v1/organizations/${organization.id}/branding`
  const send = async (method, path, type, body, version) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': type, 'if-match': version }
    const response = await fetch(new URL(path, issuer), { method, headers, body })
    if (!response.ok) throw new Error(await response.text())
    return response.headers.get('etag')
  }
  const colours = JSON.stringify({ color: '#7a1f5c', color_dark: '#e9a6cf' })
  const version = await send('PATCH', path, 'application/json', colours, '"0"')
  await send('PUT', `${path}/logo`, 'image/png', logo(), version)
}

/** Asks somebody to join, with a key of somebody who may; says whom. */
export const invite = async (organization, key) => {
  const { address: email } = someone('Convidada')
  const response = await fetch(new URL(`/v1/organizations/${organization.id}/invitations`, issuer), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ email, role: 'member' }),
  })
  if (!response.ok) throw new Error(await response.text())
  return email
}
