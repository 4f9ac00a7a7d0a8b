// What goes wrong in people's hands: groups 6, 7, 8, 9 (keyboard), 13, and the page for a fault of ours.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'
import { contrast } from '../checks.mjs'
import { delivered, enter, focused, follow, issuer, mailed, onward, open, press, request, shared, someone, sql, stranger, visitor } from '../lib.mjs'

const one = shared(before, after)

const app = { client_id: process.env.PORTEIRO_CLIENT_ID, redirect_uri: process.env.PORTEIRO_CALLBACK }
/** The second service: its mail goes through a real mail server, its colours are its own. */
const branded = process.env.PORTEIRO_BRANDED_ISSUER

const heading = (page) => page.innerText('h1')

/** Asks for a mail with a link; says what came. */
const asked = async (page, person) => {
  await page.goto(`${branded}/ui/register`)
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  return delivered(person.address)
}

test('6 a mailed link in the same browser: the new tab goes on, and so does the old one', async () => {
  const visit = await visitor(one)
  const { page } = visit
  const { link } = await asked(page, someone())
  const tab = await visit.context.newPage()
  await tab.goto(link)
  assert.equal(new URL(tab.url()).hash, '', 'the secret leaves the address bar')
  await press(tab, 'email_link/redeem')
  assert.match(await heading(tab), /What should we call you/)
  await page.waitForSelector('#display_name')
  assert.deepEqual(visit.reports, [])
  await visit.context.close()
})

test('6 a mailed link in another browser: it says where to go, and the code still works there', async () => {
  const visit = await visitor(one)
  const other = await visitor(one)
  const { link, code } = await asked(visit.page, someone())
  await other.page.goto(link)
  await other.page.waitForSelector('[data-elsewhere]:not([hidden])')
  assert.match(await other.page.innerText('[data-elsewhere]'), /only in the browser where you began/)
  assert.equal(await other.page.locator('button[value="email_link/redeem"]').isVisible(), false)
  await enter(visit, code, 'email_code/check')
  assert.match(await heading(visit.page), /What should we call you/)
  await visit.context.close()
  await other.context.close()
})

test('6 a scanner that runs scripts and presses everything uses nothing up', async () => {
  const visit = await visitor(one)
  const { link } = await asked(visit.page, someone())
  for (const script of [true, false]) {
    const scanner = await visitor(one, { script })
    await scanner.page.goto(link)
    // Also what is hidden, and with everything filled in that stands in the mail.
    if (script) {
      await scanner.page.waitForSelector('[data-elsewhere]:not([hidden])')
      await scanner.page.evaluate((link) => {
        const form = document.querySelector('form')
        const [id, token] = link.split('#')[1].split('.')
        form.action = `/ui/flow/${id}`
        form.elements.step.value = 2
        form.elements.token.value = token
        document.querySelector('button[value="email_link/redeem"]').click()
      }, link)
      await scanner.page.waitForURL(`${branded}/ui/flow/*`)
      assert.match(await heading(scanner.page), /not for this browser/)
    }
    for (const anchor of await scanner.page.locator('main a').all()) await anchor.click()
    await scanner.context.close()
  }
  const tab = await visit.context.newPage()
  await tab.goto(link)
  await press(tab, 'email_link/redeem')
  assert.match(await heading(tab), /What should we call you/)
  await visit.context.close()
})

test('7 two tabs: a page sent twice says so and goes on', async () => {
  const visit = await visitor(one, { script: false })
  const { page } = visit
  await open(page, '/ui/sign-in')
  const tab = await visit.context.newPage()
  await tab.goto(page.url())
  const person = someone()
  for (const at of [page, tab]) {
    await at.fill('#identifier', person.address)
    await press(at, 'email_code/send')
  }
  assert.match(await tab.innerText('#problem'), /out of date/)
  assert.match(await heading(tab), /Check your e-mail/)
  await visit.context.close()
})

test('7 a double click, and an impatient one on a slow network, send one mail', async () => {
  for (const slow of [false, true]) {
    const visit = await visitor(one)
    const { page } = visit
    const person = someone()
    await open(page, '/ui/register')
    const session = await visit.context.newCDPSession(page)
    await page.fill('#identifier', person.address)
    const went = page.waitForNavigation({ timeout: 45_000 })
    if (slow) {
      await session.send('Network.enable')
      await session.send('Network.emulateNetworkConditions', { offline: false, latency: 3000, downloadThroughput: 20_000, uploadThroughput: 20_000 })
      const waits = await page.evaluate(() => {
        const button = document.querySelector('button[value="email_code/send"]')
        button.click()
        const waits = button.getAttribute('aria-disabled')
        button.click()
        return waits
      })
      assert.equal(waits, 'true', 'the page shows that it is on its way')
    } else await page.locator('button[value="email_code/send"]').dblclick()
    await went
    assert.match(await heading(page), /Check your e-mail/)
    assert.equal(await page.locator('#problem').count(), 0)
    const { code, count } = await mailed(person.address)
    assert.equal(count, 1)
    await enter(visit, code, 'email_code/check')
    assert.match(await heading(page), /What should we call you/)
    assert.equal((await mailed(person.address)).count, 1)
    assert.deepEqual(visit.reports, [])
    await visit.context.close()
  }
})

test('7 a reload at every stage stays there', async () => {
  const visit = await visitor(one)
  const { page } = visit
  const person = someone()
  const seen = []
  const reloaded = async () => {
    const [before, path] = [await heading(page), new URL(page.url()).pathname]
    await page.reload()
    assert.equal(await heading(page), before)
    assert.equal(new URL(page.url()).pathname, path)
    seen.push(before)
  }
  await open(page, request(app))
  await reloaded()
  await page.fill('#identifier', person.address)
  await press(page, 'email_code/send')
  assert.match(await heading(page), /Check your e-mail/)
  await reloaded()
  await enter(visit, (await mailed(person.address)).code, 'email_code/check')
  await reloaded()
  await page.fill('#display_name', person.name)
  await press(page, 'profile/set')
  await reloaded()
  await press(page, 'enrol/skip')
  await reloaded()
  await page.click('button[value="consent/allow"]')
  await page.waitForURL(`${app.redirect_uri}?**`)
  assert.ok(new URL(page.url()).searchParams.get('code'))
  assert.equal(new Set(seen).size, 5, seen.join(', '))
  assert.equal((await mailed(person.address)).count, 1, 'a reload sends no second mail')
  await visit.context.close()
})

test('7 what the page itself began before it was reloaded takes nothing away from whoever types', async () => {
  const visit = await visitor(one)
  const { page } = visit
  const first = page.waitForResponse((answer) => answer.url().endsWith('/passkey/begin'))
  await open(page, '/ui/sign-in')
  await first
  // The step moves on between the page and its script, as when the script's call of the page before comes in late.
  let moved = false
  await page.route('**/ui/assets/**/*.js', async (route) => {
    if (!moved) {
      moved = true
      const path = `/v1/flows/${new URL(page.url()).pathname.split('/').at(-1)}`
      const { step } = await (await visit.context.request.get(`${issuer}${path}`)).json()
      const answer = await visit.context.request.post(`${issuer}${path}/passkey/begin`, { data: { step }, headers: { origin: issuer } })
      assert.equal(answer.status(), 200)
    }
    await route.continue()
  })
  const begun = page.waitForResponse((answer) => answer.url().endsWith('/passkey/begin') && answer.status() === 200)
  await page.goto(page.url(), { waitUntil: 'commit' })
  await page.fill('#identifier', 'ana@example.test')
  await begun
  assert.ok(moved)
  assert.equal(await page.inputValue('#identifier'), 'ana@example.test')
  await press(page, 'email_code/send')
  assert.match(await heading(page), /Check your e-mail/)
  assert.deepEqual(visit.reports, [])
  await visit.context.close()
})

test('7 a flow that took too long says so and begins again', async () => {
  const visit = await visitor(one)
  const { page } = visit
  await open(page, '/ui/sign-in')
  const id = new URL(page.url()).pathname.split('/').at(-1)
  await sql(`UPDATE flow SET expires_at = now() - interval '1 minute', idle_expires_at = now() - interval '1 minute' WHERE flow_id = '${id}'`)
  await page.fill('#identifier', someone().address)
  await press(page, 'email_code/send')
  assert.match(await heading(page), /took a little too long/)
  await follow(page, 'main a.button.primary')
  assert.match(await heading(page), /Sign in/)
  assert.notEqual(new URL(page.url()).pathname.split('/').at(-1), id)
  await visit.context.close()
})

test('7 a browser that blocks cookies is told so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'porteiro-cookies-'))
  await mkdir(join(folder, 'Default'), { recursive: true })
  const preferences = { profile: { default_content_setting_values: { cookies: 2 } } }
  await writeFile(join(folder, 'Default', 'Preferences'), JSON.stringify(preferences))
  const context = await chromium.launchPersistentContext(folder, { executablePath: process.env.PORTEIRO_CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  const page = await context.newPage()
  await open(page, '/ui/sign-in')
  assert.deepEqual(await context.cookies(), [])
  assert.match(await heading(page), /not for this browser/)
  assert.match(await page.innerText('main'), /blocks cookies/)
  await context.close()
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
})

test('8 the address of a flow in another browser: the same page as for one that never was', async () => {
  const visit = await visitor(one)
  const other = await visitor(one)
  await open(visit.page, '/ui/sign-in')
  const answer = await other.page.goto(visit.page.url())
  assert.equal(answer.status(), 404)
  const text = await other.page.innerText('main')
  assert.match(text, /not for this browser/)
  const never = await open(other.page, '/ui/flow/00000000-0000-7000-8000-000000000000')
  assert.equal(never.status(), 404)
  assert.equal(await other.page.innerText('main'), text)
  await visit.context.close()
  await other.context.close()
})

/** Tabs until the element has the focus; every stop on the way can be seen. */
const tabTo = async (page, selector) => {
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press('Tab')
    const { there, seen, what } = await page.evaluate((selector) => {
      const element = document.activeElement
      const style = getComputedStyle(element)
      const outlined = style.outlineStyle !== 'none' && Number.parseFloat(style.outlineWidth) >= 2
      const box = element.getBoundingClientRect()
      return { there: element.matches(selector), seen: element === document.body || (outlined && box.bottom > 0 && box.right > 0), what: element.outerHTML.slice(0, 100) }
    }, selector)
    assert.ok(seen, `no focus to be seen on ${what}`)
    if (there) return
  }
  assert.fail(`${selector} is not reached with Tab`)
}

test('9 from the app through registration and consent and back, by keyboard alone', async () => {
  const visit = await visitor(one)
  const { page } = visit
  const { keyboard } = page
  const person = someone('Nara Luz')
  const entered = () => onward(page, () => keyboard.press('Enter'))
  await open(page, request(app))
  await page.evaluate(() => document.activeElement?.blur())
  await tabTo(page, '.skip')
  await keyboard.press('Enter')
  assert.ok(await focused(page, '#main'))
  await tabTo(page, '#identifier')
  await keyboard.type(person.address)
  await entered()
  assert.ok(await focused(page, '#code'))
  const { code } = await mailed(person.address)
  await onward(page, () => keyboard.type(code))
  assert.ok(await focused(page, '#display_name'))
  await keyboard.type(person.name)
  await entered()
  await tabTo(page, 'details.more summary')
  await keyboard.press('Space')
  await tabTo(page, '#new_password')
  await keyboard.type('short')
  await entered()
  assert.ok(await focused(page, '#problem'))
  await tabTo(page, '#problem a')
  await keyboard.press('Enter')
  assert.ok(await focused(page, '#new_password'))
  await tabTo(page, '[data-reveal]')
  await keyboard.press('Space')
  assert.equal(await page.getAttribute('[data-reveal]', 'aria-pressed'), 'true')
  await keyboard.press('Shift+Tab')
  await keyboard.press('Control+A')
  await keyboard.type(person.password)
  await entered()
  assert.match(await heading(page), /Allow Ledger/)
  await tabTo(page, 'button[value="consent/allow"]')
  await keyboard.press('Space')
  await page.waitForURL(`${app.redirect_uri}?**`)
  assert.ok(new URL(page.url()).searchParams.get('code'))
  await visit.context.close()
})

test('13 colours that could not be read are refused; those taken can be read, light and dark', async () => {
  const check = async (...colours) => {
    const settings = ['config', 'check', '--dev', '--database-url', process.env.PORTEIRO_DATABASE, '--base-url', issuer]
    return promisify(execFile)(process.env.PORTEIRO_BINARY, [...settings, ...colours], { env: {} }).then(
      ({ stdout }) => ({ taken: true, stdout }),
      ({ stdout, stderr }) => ({ taken: false, stdout: stdout + stderr }),
    )
  }
  assert.equal((await check('--brand-color', '#7a1f5c', '--brand-color-dark', '#f2a7d3')).taken, true)
  for (const [name, colour, advice] of [['--brand-color', '#ffd21f', 'darker'], ['--brand-color-dark', '#7a1f5c', 'lighter']]) {
    const { taken, stdout } = await check(name, colour)
    assert.equal(taken, false)
    assert.match(stdout, new RegExp(`must be at least 4.5:1; choose a ${advice} one`))
  }
  const visit = await visitor(one)
  const { page } = visit
  for (const [colorScheme, colour] of [['light', '#7a1f5c'], ['dark', '#f2a7d3']]) {
    await page.emulateMedia({ colorScheme })
    await page.goto(`${branded}/ui/sign-in`)
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--accent')), colour)
    assert.deepEqual(await contrast(page), [])
  }
  await visit.context.close()
})

test('a fault of ours is a page that says so, and nothing of what broke', async () => {
  const visit = await visitor(one)
  const { page } = visit
  const database = process.env.PORTEIRO_BRANDED_DATABASE
  await page.goto(`${branded}/ui/sign-in`)
  const flow = new URL(page.url()).pathname.split('/').at(-1)
  const { client_id: client } = await stranger(app.redirect_uri, {}, branded)
  await sql('ALTER TABLE flow RENAME TO flow_elsewhere', database)
  try {
    const asked = request({ client_id: client, redirect_uri: app.redirect_uri })
    for (const path of ['/ui/sign-in', `/ui/flow/${flow}`, asked]) {
      const answer = await page.goto(`${branded}${path}`)
      assert.ok(answer.status() >= 500, `${path}: ${answer.status()}`)
      assert.match(await heading(page), /Something went wrong on our side/, path)
      assert.doesNotMatch(await page.content(), /flow_elsewhere|relation|postgres/i)
    }
  } finally {
    await sql('ALTER TABLE flow_elsewhere RENAME TO flow', database)
  }
  await page.goto(`${branded}/ui/sign-in`)
  assert.match(await heading(page), /Sign in/)
  await visit.context.close()
})
