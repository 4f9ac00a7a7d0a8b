// Screens that few people see: the second half of the walk. Whoever walks is signed in, with two organizations.

import { readFile } from 'node:fs/promises'
import { authenticator, enter, follow, introduced, issuer, mailed, open, press, printed, pushed, someone, sql } from './lib.mjs'

const app = { client_id: process.env.PORTEIRO_PAYING_CLIENT_ID, redirect_uri: process.env.PORTEIRO_CALLBACK }

const flow = (page) => new URL(page.url()).pathname.split('/').at(-1)

/** Registers without looking, with a password. Signed in afterwards. */
const joined = async (visitor, person) => {
  const { page } = visitor
  await introduced(visitor, person)
  await page.click('details.more summary')
  await page.fill('#new_password', person.password)
  await press(page, 'password/set')
}

const left = async (page) => {
  await open(page, '/connect/logout')
  await follow(page, 'main form button')
}

/** Signs in with the password, for the account, and with the phone where there is one. */
const back = async (visitor, person, code, look = async () => {}) => {
  const { page } = visitor
  await open(page, '/ui/sign-in')
  await page.fill('#identifier', person.address)
  await press(page, 'show/password')
  await page.fill('#password', person.password)
  await press(page, 'password/check')
  if (code) {
    await look('raise-text', page)
    await press(page, 'sms_code/send')
    await look('raise-text-code', page)
    await enter(visitor, await code(), 'sms_code/check')
  }
  if (await page.locator('button[value="enrol/skip"]').count()) await press(page, 'enrol/skip')
}

const enrol = async (page, kind) => {
  await open(page, '/ui/account/security')
  await follow(page, `form:has(input[name=kind][value=${kind}]) button`)
}

/** Pages for what went wrong. */
const faults = async ({ page }, look) => {
  await open(page, '/ui/sign-in')
  await sql(`UPDATE flow SET expires_at = now(), idle_expires_at = now() WHERE flow_id = '${flow(page)}'`)
  await page.reload()
  await look('flow-expired', page)
  // What no version of ours could have written.
  await open(page, '/ui/sign-in')
  await sql(`UPDATE flow SET state = '[]' WHERE flow_id = '${flow(page)}'`)
  await page.reload()
  await look('our-fault', page)
}

const invitation = async ({ page, script }, host, look) => {
  const token = await printed(host.guest, /\/ui\/invitation#(\S+)/)
  await open(page, `/ui/invitation#${token}`)
  // With script the page says by itself who invites.
  if (script) {
    await page.waitForSelector('#token[type=hidden]', { state: 'attached' })
    await page.waitForLoadState('load')
  } else {
    await page.fill('#token', token)
    await press(page, 'look')
  }
  await look('invitation-open', page)
  await press(page, 'accept')
  await look('invitation-accepted', page)
}

/** A number, and what it is good for afterwards. */
const texts = async (visitor, person, look) => {
  const { page } = visitor
  const number = `+55119${String(Math.floor(Math.random() * 1e8)).padStart(8, '0')}`
  let texted = 0
  const code = () => printed(number, /(\d{6})/, texted++)
  await enrol(page, 'phone')
  if (await page.locator('#password').count()) {
    await page.fill('#password', person.password)
    await press(page, 'password/check')
  }
  await look('add-number', page)
  await page.fill('#number', number)
  await press(page, 'phone/add')
  await look('add-number-code', page)
  await enter(visitor, await code(), 'phone/verify')
  await look('security-number', page)
  await left(page)
  await back(visitor, person, code, look)
  return code
}

/** What an API of somebody's own asks for, and an answer that goes back as a form. */
const details = async ({ page }, look) => {
  const asked = {
    scope: 'openid invoices:read',
    resource: 'https://ledger.example.test',
    authorization_details: JSON.stringify([
      { type: 'payment', amount: '10.00', to: 'Padaria do Bairro' },
      { type: 'statement', account: '0042', months: 3 },
    ]),
    response_mode: 'form_post',
  }
  await open(page, await pushed(app, asked))
  if (await page.locator('button[value="enrol/skip"]').count()) await press(page, 'enrol/skip')
  await look('consent-details', page)
  await page.route('**/ui/flow/*', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, body: (await response.text()).replace(' data-send', '') })
  })
  await press(page, 'consent/allow')
  await look('continuing-form', page)
  await page.unroute('**/ui/flow/*')
  await follow(page, 'main form button')
  if (!page.url().startsWith(app.redirect_uri)) throw new Error(`not back at the app: ${page.url()}`)
}

/** An app asks for more than the account has: it is set up on the way. */
const demanded = async ({ page }, person, look) => {
  await open(page, await pushed(app, { scope: 'openid', acr_values: 'aal2' }))
  if (await page.locator('#password').count()) {
    await page.fill('#password', person.password)
    await press(page, 'password/check')
  }
  await look('offer-demanded', page)
  await press(page, 'totp/enrol_begin')
  await look('totp-demanded', page)
}

/** An account that is given back after three days, unless its owner objects. */
const hold = async (visitor, person, code, look) => {
  const { page } = visitor
  await left(page)
  await open(page, '/ui/recover')
  const { count } = await mailed(person.address)
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  await enter(visitor, (await mailed(person.address, count)).code, 'email_code/check')
  await follow(page, 'nav.others a[href*=hold]')
  await press(page, 'recovery/hold')
  await look('hold-begun', page)
  await back(visitor, person, code)
  // The owner's own sign-in has stopped it; somebody asks once more.
  await sql(`UPDATE account SET recovery_hold_until = now() + interval '72 hours' WHERE account_id = (SELECT account_id FROM credential WHERE body->>'canonical' = '${person.address}')`)
  await open(page, '/ui/account/security')
  await look('security-hold', page)
  await press(page, 'stop-recovery')
  await look('security-hold-stopped', page)
}

/** The name, the data, and the end of an account. Whoever walks has just signed in, and is signed out afterwards. */
const ending = async ({ page }, person, look) => {
  await open(page, '/ui/account/profile')
  await look('profile', page)
  await page.fill('#display-name', ' ')
  await press(page, 'save')
  await look('profile-wrong', page)
  await page.fill('#display-name', person.name)
  await press(page, 'save')
  await look('profile-saved', page)
  const arriving = page.waitForEvent('download')
  await page.click('button[value=export]')
  const file = await arriving
  const stored = JSON.parse(await readFile(await file.path(), 'utf8'))
  if (file.suggestedFilename() !== 'account.json' || !JSON.stringify(stored.data.credential).includes(person.address)) throw new Error('not what is stored')
  await page.click('details.menu summary')
  await look('profile-delete', page)
  await sql(`UPDATE account SET deletion_at = now() + interval '14 days' WHERE account_id = (SELECT account_id FROM credential WHERE body->>'canonical' = '${person.address}')`)
  await open(page, '/ui/account/profile')
  await look('deletion-pending', page)
  await press(page, 'keep')
  await look('deletion-kept', page)
  await page.click('details.menu summary')
  await press(page, 'delete')
  await look('deletion-requested', page)
}

/** A passkey in the list, and asked for once more. */
const passkey = async (visitor, person, look) => {
  const { page } = visitor
  await authenticator(visitor)
  await page.addInitScript(() => {
    PublicKeyCredential.isConditionalMediationAvailable = async () => false
  })
  await joined(visitor, person)
  await enrol(page, 'passkey')
  if (await page.locator('#password').count()) {
    await page.fill('#password', person.password)
    await press(page, 'password/check')
  }
  await look('add-passkey', page)
  await page.click('[data-passkey=create]')
  await page.waitForURL(`${issuer}/ui/account/security`)
  await look('security-passkey', page)
  await left(page)
  await back(visitor, person)
  await enrol(page, 'totp')
  await look('raise-passkey', page)
}

/** `host` invited a guest to an organization. */
export const byways = async (visitor, host, look) => {
  const person = someone('Beto Prado')
  await left(visitor.page)
  await faults(visitor, look)
  await joined(visitor, person)
  await invitation(visitor, host, look)
  await details(visitor, look)
  await demanded(visitor, person, look)
  const code = await texts(visitor, person, look)
  await hold(visitor, person, code, look)
  await ending(visitor, person, look)
  if (!visitor.script) return
  await passkey(visitor, someone('Cida Alves'), look)
}
