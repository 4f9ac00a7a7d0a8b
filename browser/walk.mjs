// One walk past every screen that needs no passkey. `look(name, page)` is called on each.

import { setTimeout as sleep } from 'node:timers/promises'
import { approvals } from './approvals.mjs'
import { byways } from './byways.mjs'
import { device, dress, enter, follow, invite, issuer, mailed, open, pair, press, redeemed, request, someone, sql, stranger, totp } from './lib.mjs'

/** Asks people in which organization they act. */
const teams = { client_id: process.env.PORTEIRO_TEAMS_CLIENT_ID, redirect_uri: process.env.PORTEIRO_CALLBACK }

const app = {
  client_id: process.env.PORTEIRO_CLIENT_ID,
  redirect_uri: process.env.PORTEIRO_CALLBACK,
}

/** Registers, with a password. Signed in afterwards. */
export const register = async (visitor, person, look = async () => {}) => {
  const { page } = visitor
  await open(page, '/ui/register')
  await look('register', page)
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  await look('register-code', page)
  await enter(visitor, '000000', 'email_code/check')
  await look('code-wrong', page)
  await enter(visitor, (await mailed(person.address)).code, 'email_code/check')
  await look('profile', page)
  await page.fill('#display_name', person.name)
  await press(page, 'profile/set')
  await look('offer', page)
  await page.click('details.more summary')
  await page.fill('#new_password', 'too short')
  await press(page, 'password/set')
  await look('password-short', page)
  await page.fill('#new_password', person.password)
  await press(page, 'password/set')
}

/** Waits for the page of the app, and says what came with it. */
export const arrived = async (page) => {
  await page.waitForURL(`${app.redirect_uri}?**`)
  return new URL(page.url()).searchParams
}

const enrol = async (page, kind) => {
  await open(page, '/ui/account/security')
  await follow(page, `form:has(input[name=kind][value=${kind}]) button`)
}

/** A code of the authenticator app that was not used yet. One that is a step ahead is taken, one further ahead waits. */
const fresh = async (phone) => {
  const step = () => Math.floor(Date.now() / 30_000)
  phone.last = Math.max(step(), phone.last + 1)
  while (phone.last > step() + 1) await sleep(500)
  return totp(phone.secret, phone.last)
}

/** Proves once more that it is us, as often as that is asked for: on a slow machine more often than on a fast one. */
const proved = async (visitor, person, phone, until, look = async () => {}) => {
  const { page } = visitor
  for (let tries = 0; tries < 4 && !(await page.locator(until).count()); tries += 1) {
    if (await page.locator('#password').count()) {
      await page.fill('#password', person.password)
      await press(page, 'password/check')
    } else {
      await look()
      await enter(visitor, await fresh(phone), 'totp/check')
    }
  }
}

export const walk = async (visitor, look) => {
  const { page } = visitor
  const person = someone()

  await open(page, '/ui/sign-in')
  await look('sign-in', page)
  await open(page, '/nowhere')
  await look('not-found', page)
  await open(page, '/connect/authorize?client_id=nobody')
  await look('request-refused', page)
  await open(page, '/ui/flow/00000000-0000-7000-8000-000000000000')
  await look('flow-elsewhere', page)

  await register(visitor, person, look)
  await look('security', page)
  await open(page, '/ui/account/apps')
  await look('apps-none', page)

  // An authenticator app: the password was set a moment ago, so it is asked for once.
  await enrol(page, 'totp')
  if (await page.locator('#password').count()) {
    await look('raise-password', page)
    await page.fill('#password', person.password)
    await press(page, 'password/check')
  }
  await look('totp-begin', page)
  await press(page, 'totp/enrol_begin')
  await look('totp-scan', page)
  await page.click('details.more summary')
  const phone = { secret: await page.locator('#secret').innerText(), last: 0 }
  await enter(visitor, await fresh(phone), 'totp/enrol_finish')
  if (new URL(page.url()).pathname !== '/ui/account/security') throw new Error(`no authenticator app: ${await page.innerText('main')}`)

  await enrol(page, 'recovery_codes')
  await proved(visitor, person, phone, 'button[value="recovery_code/generate"]', () => look('raise-totp', page))
  await look('recovery-codes', page)
  await press(page, 'recovery_code/generate')
  await look('recovery-codes-made', page)
  const codes = await page.locator('#codes code').allInnerTexts()
  await follow(page, 'a.button.primary')

  await enrol(page, 'email')
  await proved(visitor, person, phone, '#address')
  await look('add-address', page)
  const second = `second.${person.address}`
  await page.fill('#address', second)
  await press(page, 'email/add')
  await look('add-address-code', page)
  await enter(visitor, (await mailed(second)).code, 'email/verify')
  await look('security-full', page)
  await enrol(page, 'password')
  await proved(visitor, person, phone, '#new_password')
  await look('password-change', page)
  await approvals(visitor, look)

  await open(page, '/ui/account/keys')
  await look('keys-none', page)
  const organizations = []
  for (const name of ['Acme', 'Padaria do Bairro', 'Velha Guarda']) {
    const slug = `${name.toLowerCase().replaceAll(' ', '-')}-${person.address.slice(4, 12)}`
    const made = await page.request.post(new URL('/v1/organizations', issuer).href, { data: { name, slug }, headers: { origin: issuer } })
    if (!made.ok()) throw new Error(await made.text())
    organizations.push(await made.json())
  }
  // Whoever runs the service has closed the last one.
  await sql(`UPDATE organization SET status = 'suspended', suspended_at = now(), suspended_by = 'operator' WHERE organization_id = '${organizations[2].id}'`)
  await open(page, '/ui/account/organizations')
  await look('organizations', page)
  await open(page, '/ui/account/keys')
  await look('keys-new', page)
  await page.fill('#name', 'Nightly report')
  for (const what of ['invitations:write', 'organization:read']) await page.check(`input[value="${what}"]`)
  await page.check('input[value="organization:write"]')
  await press(page, 'make')
  await look('key-made', page)
  const key = await page.locator('#secret').innerText()
  await dress(organizations[0], key)
  const guest = await invite(organizations[0], key)
  await page.click('details.menu summary')
  await press(page, 'revoke')
  await look('key-revoked', page)
  await open(page, '/ui/account/sessions')
  await look('sessions', page)
  await open(page, '/ui/account/activity')
  await look('activity', page)

  await open(page, '/connect/logout')
  await look('sign-out', page)
  await follow(page, 'main form button')
  await look('signed-out', page)

  // For an organization with a look of its own.
  await open(page, request(teams, { organization: organizations[0].slug }))
  await look('sign-in-branded', page)
  const picture = await page.request.get(await page.locator('.look img').getAttribute('src'))
  if (picture.headers()['content-type'] !== 'image/png') throw new Error('no logo')

  // For an app that somebody checked.
  await open(page, request(app))
  await look('sign-in-for-app', page)
  await page.fill('#identifier', person.address)
  await press(page, 'show/password')
  await look('password', page)
  await page.fill('#password', 'not the right one at all')
  await press(page, 'password/check')
  await look('password-wrong', page)
  await page.fill('#password', person.password)
  await press(page, 'password/check')
  await look('second-step', page)
  await enter(visitor, await fresh(phone), 'totp/check')
  if (await page.locator('button[value="enrol/skip"]').count()) await press(page, 'enrol/skip')
  await look('consent', page)
  // The page that goes on by itself is held, to be looked at.
  await page.route('**/ui/flow/*', async (route) => {
    const response = await route.fetch()
    const body = (await response.text()).replace(/<meta http-equiv="refresh"[^>]*>/, '')
    await route.fulfill({ response, body })
  })
  await press(page, 'consent/allow')
  await look('continuing', page)
  await page.unroute('**/ui/flow/*')
  await follow(page, 'a.button.primary')
  const answer = await arrived(page)
  if (!answer.get('code') || answer.get('state') !== 'the-state') throw new Error(`no code at ${page.url()}`)

  await open(page, request(app, { prompt: 'select_account' }))
  await look('confirm', page)

  await open(page, request(teams))
  await look('organization', page)
  await press(page, 'organization/choose')
  await look('consent-organization', page)
  await press(page, 'consent/deny')
  const denied = await arrived(page)
  if (denied.get('error') !== 'access_denied') throw new Error(`not denied: ${page.url()}`)

  // For one that nobody did.
  const unknown = await stranger(app.redirect_uri)
  await open(page, request(unknown, { scope: 'openid profile' }))
  if (await page.locator('button[value="enrol/skip"]').count()) await press(page, 'enrol/skip')
  await look('consent-stranger', page)
  await press(page, 'consent/deny')
  const stopped = await arrived(page)
  if (stopped.get('error') !== 'access_denied') throw new Error(`not denied: ${page.url()}`)
  const { verifier, challenge } = pair()
  await open(page, request(unknown, { scope: 'openid profile', code_challenge: challenge }))
  await page.waitForSelector('button[value="consent/allow"]:enabled')
  await page.click('button[value="consent/allow"]')
  await redeemed(unknown, (await arrived(page)).get('code'), verifier)
  await open(page, '/ui/account/apps')
  await look('apps', page)
  await page.click('details.menu summary')
  await look('apps-revoke', page)
  await press(page, 'withdraw')
  await look('apps-revoked', page)

  // For something without a browser: here, and somewhere else.
  const here = await device(page)
  await open(page, '/device')
  await look('device', page)
  await page.fill('#user_code', 'bbbb bbbb')
  await press(page, 'device/look')
  await look('device-wrong', page)
  await page.fill('#user_code', here.user_code.toLowerCase())
  await press(page, 'device/look')
  await look('consent-device', page)
  await page.waitForSelector('button[value="consent/allow"]:enabled')
  await press(page, 'consent/allow')
  await look('device-done', page)
  if (!(await here.poll()).access_token) throw new Error('the device was not let in')
  await open(page, (await device()).verification_uri_complete)
  await look('device-from-link', page)
  await press(page, 'device/look')
  await look('consent-device-elsewhere', page)
  await press(page, 'consent/deny')
  await look('device-refused', page)

  // Back in, without the password.
  await open(page, '/connect/logout')
  await follow(page, 'main form button')
  await open(page, '/device')
  await look('device-sign-in', page)
  await open(page, '/ui/recover')
  await look('recover', page)
  const { count } = await mailed(person.address)
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  await look('recover-code', page)
  await enter(visitor, (await mailed(person.address, count)).code, 'email_code/check')
  await look('recover-raise', page)
  await follow(page, 'nav.others a[href*=hold]')
  await look('recover-hold', page)
  await follow(page, 'nav.others a[href*=recovery-code]')
  await look('recovery-code', page)
  await page.fill('#code', codes[0])
  await press(page, 'recovery_code/check')
  await look('recover-new-way', page)
  await page.click('details.more summary')
  await page.fill('#new_password', 'another evening by the river')
  await press(page, 'password/set')
  if (new URL(page.url()).pathname !== '/ui/account/security') throw new Error(`not recovered: ${page.url()}`)

  await open(page, '/ui/invitation')
  await look('invitation', page)
  await page.fill('#token', 'not-one-of-ours')
  await press(page, 'look')
  await look('invitation-wrong', page)

  await open(page, '/ui/link#nothing.here')
  await look('link', page)
  await byways(visitor, { guest }, look)
}
