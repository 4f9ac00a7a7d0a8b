// A browser, its person, their mailbox and their phone.

import { createHash, createHmac, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { deflateSync } from 'node:zlib'
import { chromium } from 'playwright-core'

export const issuer = process.env.PORTEIRO_ISSUER

export const launch = () =>
  chromium.launch({ executablePath: process.env.PORTEIRO_CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] })

let network = 1
/** A browser of its own, somewhere else on the network each time: limits count addresses. */
export const visitor = async (browser, { lang = 'en', script = true, ...rest } = {}) => {
  network += 1
  const context = await browser.newContext({
    locale: lang === 'pt' ? 'pt-BR' : 'en-US',
    javaScriptEnabled: script,
    extraHTTPHeaders: { 'x-forwarded-for': `198.51.100.${network}` },
    ...rest,
  })
  context.setDefaultTimeout(15_000)
  const page = await context.newPage()
  const reports = []
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/i.test(message.text())) reports.push(`${page.url()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => reports.push(`${page.url()}: ${error}`))
  return { context, page, reports, script }
}

export const someone = (name = 'Ana Souza') => ({
  name,
  address: `${name.split(' ')[0].toLowerCase()}.${randomUUID().slice(0, 8)}@example.test`,
  password: 'a quiet evening by the river',
})

/** The newest code mailed to an address, from what `porteiro serve --dev` prints. */
export const mailed = async (address, after = 0) => {
  for (let tries = 0; tries < 100; tries += 1) {
    const mails = (await readFile(process.env.PORTEIRO_OUTPUT, 'utf8')).split(`--- mail to ${address} ---\nSubject: `)
    const codes = mails.slice(1).map((mail) => /^\d{6}/.exec(mail)?.[0]).filter(Boolean)
    if (codes.length > after) return { code: codes.at(-1), count: codes.length, text: mails.at(-1) }
    await sleep(100)
  }
  throw new Error(`no mail to ${address}`)
}

/** RFC 6238, as an authenticator app does it. */
export const totp = (secret, ahead = 0) => {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret.replace(/[\s=]/g, '')].map((c) => letters.indexOf(c).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + ahead))
  const hash = createHmac('sha1', key).update(counter).digest()
  const at = hash[19] & 15
  return String((hash.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** Presses the button of the flow's action, and waits for the page after it. */
export const press = async (page, action) => {
  await Promise.all([page.waitForNavigation(), page.locator(`button[name=action][value="${action}"]`).first().click()])
}

/** Types a code. With script the page goes on by itself. */
export const enter = async ({ page, script }, code, action) => {
  if (script) await Promise.all([page.waitForNavigation(), page.fill('#code', code)])
  else {
    await page.fill('#code', code)
    await press(page, action)
  }
}

export const open = (page, path) => page.goto(new URL(path, issuer).href)

/** Follows a link or presses a plain button, and waits for the page after it. */
export const follow = async (page, selector) => {
  await Promise.all([page.waitForNavigation(), page.locator(selector).first().click()])
}

/** An authorization request of a client, ready for a browser. */
export const request = (client, more = {}) => {
  const parameters = {
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: client.redirect_uri,
    scope: 'openid profile email',
    state: 'the-state',
    code_challenge: createHash('sha256').update(randomUUID()).digest('base64url'),
    code_challenge_method: 'S256',
    ...more,
  }
  return `/connect/authorize?${new URLSearchParams(parameters)}`
}

/** A client that registers itself: nobody has checked it. */
export const stranger = async (redirect_uri) => {
  const response = await fetch(new URL('/connect/register', issuer), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Calendar helper',
      redirect_uris: [redirect_uri],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code'],
    }),
  })
  if (!response.ok) throw new Error(await response.text())
  return { ...(await response.json()), redirect_uri }
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
