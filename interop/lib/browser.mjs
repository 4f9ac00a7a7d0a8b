// A person at a real browser: makes an account and signs in, with nothing but the hosted screens.

import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'

export const issuer = process.env.PORTEIRO_ISSUER

/** Trusts the key of this run's certificates, and no other: passkeys want a connection without complaints. */
export const launch = () =>
  chromium.launch({
    executablePath: process.env.PORTEIRO_CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      `--ignore-certificate-errors-spki-list=${process.env.PORTEIRO_TLS_KEY_HASH}`,
    ],
  })

/** Where people make an account unless told otherwise: the server of this run, and the file to which it prints its mail. */
const here = { at: issuer, output: process.env.PORTEIRO_OUTPUT }

/**
 * Somebody with an account and no session, unless they `stay` signed in. `how` they will sign in: `password`, `code` (by
 * mail) or `passkey`. Gives back the person and the page they sit at.
 */
export async function newcomer(browser, name, how = 'password', { stay = false, ...where } = {}) {
  const context = await browser.newContext({ locale: 'en-US' })
  context.setDefaultTimeout(30_000)
  const page = await context.newPage()
  const person = {
    name,
    how,
    address: `${name.split(' ')[0].toLowerCase()}.${randomUUID().slice(0, 8)}@example.test`,
    password: `${randomUUID()} by the river`,
    mails: 0,
    ...here,
    ...where,
  }
  if (how === 'passkey') await authenticator(context, page)

  await page.goto(`${person.at}/ui/register`)
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  await typeCode(page, person)
  await page.fill('#display_name', person.name)
  await press(page, 'profile/set')
  if (how === 'passkey') {
    await page.click('[data-passkey=create]')
  } else {
    await page.click('details.more summary')
    await page.fill('#new_password', person.password)
    await press(page, 'password/set')
  }
  await page.waitForURL(`${person.at}/ui/account/**`)
  if (!stay) await context.clearCookies()
  return { page, person }
}

/** Does what each screen asks until the browser is somewhere else. Gives back the names of the steps taken. */
export async function signIn(page, person, answer = 'allow') {
  const steps = []
  for (;;) {
    const screen = await look(page, person.at)
    if (!screen) return steps
    const name = nextStep(screen, person, answer)
    if (!name) throw new Error(`nothing to do at ${page.url()} after ${steps}: ${await page.innerText('body')}`)
    steps.push(name)
    if (steps.length > 12) throw new Error(`going in circles: ${steps}`)
    await take(page, person, name)
  }
}

/** What a screen offers: its buttons, its fields, a passkey. Nothing where it is no screen of that server. */
async function look(page, at) {
  for (;;) {
    await page.waitForLoadState('load')
    if (new URL(page.url()).origin !== at) return null
    const seen = page.evaluate(() => ({
      origin: location.origin,
      href: location.href,
      leaving: Boolean(document.querySelector('meta[http-equiv=refresh]')),
      buttons: [...document.querySelectorAll('button[name=action]')].map((button) => button.value),
      fields: [...document.querySelectorAll('input[id]')].map((field) => field.id),
      passkey: Boolean(document.querySelector('[data-passkey=get]')),
    }))
    // It may have gone on while it was looked at.
    const screen = await seen.catch(() => null)
    if (screen?.leaving) await page.waitForURL((url) => url.href !== screen.href)
    else if (screen?.origin === at) return screen
  }
}

function nextStep({ buttons, fields, passkey }, person, answer) {
  const plain = [`consent/${answer}`, 'enrol/skip', 'account/confirm', 'claim/attach', 'claim/existing']
  const offered = plain.find((name) => buttons.includes(name))
  if (offered) return offered
  if (passkey && person.how === 'passkey') return 'passkey'
  return ['code', 'password', 'identifier'].find((name) => fields.includes(name))
}

async function take(page, person, name) {
  switch (name) {
    case 'passkey':
      return navigated(page, () => page.click('[data-passkey=get]'))
    case 'code':
      return typeCode(page, person)
    case 'password':
      await page.fill('#password', person.password)
      return press(page, 'password/check')
    case 'identifier':
      await page.fill('#identifier', person.address)
      return press(page, person.how === 'code' ? 'email_code/send' : 'show/password')
    default:
      return press(page, name)
  }
}

const button = (page, action) => page.locator(`button[name=action][value="${action}"]`).first()

const navigated = (page, doing) => Promise.all([page.waitForNavigation(), doing()])

export const press = (page, action) => navigated(page, () => button(page, action).click())

/** Six digits, and the page goes on by itself. */
async function typeCode(page, person) {
  const code = await mailed(person)
  await navigated(page, () => page.fill('#code', code))
}

/** The next code to this person, from what `porteiro serve --dev` prints where it has no mail server. */
async function mailed(person) {
  for (let tries = 0; tries < 600; tries += 1) {
    const output = await readFile(person.output, 'utf8')
    const mails = output.split(`--- mail to ${person.address} ---\nSubject: `).slice(1)
    const codes = mails.map((mail) => /^\d{6}/.exec(mail)?.[0]).filter(Boolean)
    if (codes.length > person.mails) {
      person.mails = codes.length
      return codes.at(-1)
    }
    await sleep(100)
  }
  throw new Error(`no mail to ${person.address}`)
}

/** A passkey in software, as Chromium's DevTools have it, that is used when a button is pressed and not before. */
async function authenticator(context, page) {
  await page.addInitScript(() => {
    if (globalThis.PublicKeyCredential) PublicKeyCredential.isConditionalMediationAvailable = async () => false
  })
  const session = await context.newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}

/** Takes back what the person allowed: every app, at their own account. */
export async function withdraw(page) {
  await page.goto(`${issuer}/ui/account/apps`)
  while (await page.locator('details.menu summary').count()) {
    await page.locator('details.menu summary').first().click()
    await press(page, 'withdraw')
  }
}

/** Reads what is asked of them, and picks the number that the client shows. */
export async function approve(page, number, expected) {
  await page.goto(`${issuer}/ui/account/approvals`)
  const shown = await page.innerText('main')
  if (!shown.includes(expected)) throw new Error(`not asked for "${expected}" but: ${shown}`)
  await press(page, `approve-${number}`)
}
