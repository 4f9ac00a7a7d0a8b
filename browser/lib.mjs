// A browser, its person, their mailbox and their phone.

import { createHash, createHmac, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
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
