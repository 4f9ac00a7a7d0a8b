// Something without a browser is let in by somebody who has one: group 14.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { device, follow, open, press, shared, someone, sql, visitor } from '../lib.mjs'
import { register } from '../walk.mjs'

const one = shared(before, after)

const heading = (page) => page.innerText('h1')

/** Waits for the mail that says so. */
const told = async (address) => {
  for (let tries = 0; tries < 600; tries += 1) {
    const mails = (await readFile(process.env.PORTEIRO_OUTPUT, 'utf8')).split('--- mail to ')
    if (mails.some((mail) => mail.startsWith(`${address} ---\nSubject: A device was given access to your account`))) return
    await sleep(100)
  }
  throw new Error(`${address} was not told`)
}

for (const script of [true, false]) {
  test(`14 a device in a second context is let in, ${script ? 'with' : 'without'} script`, async () => {
    const visit = await visitor(one, { script })
    const { page } = visit
    const person = someone('Rita Lopes')
    await register(visit, person)
    const television = await device(page)
    assert.match(television.user_code, /^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/)
    assert.equal((await television.poll()).error, 'authorization_pending')

    await open(page, television.verification_uri)
    // As somebody types who reads it off a screen across the room.
    await page.fill('#user_code', ` ${television.user_code.toLowerCase().replace('-', '  ')}`)
    await press(page, 'device/look')
    const shown = await page.innerText('main')
    assert.match(shown, /Connect Ledger on television\?/)
    assert.ok(shown.includes(television.user_code), 'to compare once more')
    assert.match(shown, /only if you started this yourself/)
    await page.waitForSelector('button[value="consent/allow"]:enabled')
    await press(page, 'consent/allow')
    assert.match(await heading(page), /device is connected/)

    await sql(`UPDATE device_request SET polled_at = polled_at - interval '1 minute' WHERE ${television.row}`)
    const tokens = await television.poll()
    assert.ok(tokens.access_token && tokens.id_token, JSON.stringify(tokens))
    await open(page, '/ui/account/apps')
    assert.match(await page.innerText('main'), /Ledger on television/)
    await told(person.address)
    assert.deepEqual(visit.reports, [])
    await visit.context.close()
  })
}

test('14 a link is not enough: sign in first, then compare, then say yes; and a device elsewhere is shown as one', async () => {
  const visit = await visitor(one)
  const { page } = visit
  const person = someone('Davi Nunes')
  await register(visit, person)
  await open(page, '/connect/logout')
  await follow(page, 'main form button')
  const television = await device()
  await open(page, television.verification_uri_complete)
  assert.match(await heading(page), /Sign in/)
  assert.ok(!(await page.innerText('main')).includes('Ledger'), 'a link tells nobody who asks')
  await page.fill('#identifier', person.address)
  await press(page, 'show/password')
  await page.fill('#password', person.password)
  await press(page, 'password/check')
  assert.equal(await page.inputValue('#user_code'), television.user_code)
  assert.ok(!(await page.innerText('main')).includes('Ledger'), 'nor before they have compared')
  // The page's clock stands still, so that a slow machine looks no later than a fast one.
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 60_000)
  await press(page, 'device/look')
  assert.match(await page.innerText('main'), /another network/)
  const allow = page.locator('button[value="consent/allow"]')
  await page.clock.runFor(1_900)
  assert.ok(await allow.isDisabled(), 'nobody allows it by clicking before they could have read')
  await page.clock.runFor(200)
  assert.ok(await allow.isEnabled())
  // A window in front was clicked away: they have not seen this one for two seconds.
  await page.evaluate(() => dispatchEvent(new Event('blur')))
  await page.clock.runFor(10_000)
  assert.ok(await allow.isDisabled())
  await page.evaluate(() => dispatchEvent(new Event('focus')))
  await page.clock.runFor(1_900)
  assert.ok(await allow.isDisabled())
  await page.clock.runFor(200)
  assert.ok(await allow.isEnabled())
  await press(page, 'consent/deny')
  assert.match(await heading(page), /Not connected/)
  assert.equal((await television.poll()).error, 'access_denied')
  assert.deepEqual(visit.reports, [])
  await visit.context.close()
})

test('14 a code that came too late says so, before and after it was looked up', async () => {
  const visit = await visitor(one)
  const { page } = visit
  await register(visit, someone('Lia Prates'))
  const [early, late] = [await device(page), await device(page)]
  await open(page, early.verification_uri_complete)
  await press(page, 'device/look')
  for (const { row } of [early, late]) await sql(`UPDATE device_request SET expires_at = now() WHERE ${row}`)
  await page.waitForSelector('button[value="consent/allow"]:enabled')
  await press(page, 'consent/allow')
  assert.match(await heading(page), /has expired/)
  await open(page, late.verification_uri_complete)
  await press(page, 'device/look')
  assert.match(await page.innerText('[role=alert]:not([hidden])'), /not waiting to be confirmed/)
  assert.equal(await page.inputValue('#user_code'), late.user_code, 'what was typed is still there')
  assert.deepEqual(visit.reports, [])
  await visit.context.close()
})
