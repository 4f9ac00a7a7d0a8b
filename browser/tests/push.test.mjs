// The service worker: a message without content becomes a sentence, and a click opens the inbox.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { issuer, open, shared, someone, sql, visitor } from '../lib.mjs'
import { register } from '../walk.mjs'

const one = shared(before, after)

/** What DevTools knows of the workers of a page. */
const workers = async ({ context, page }) => {
  const session = await context.newCDPSession(page)
  const known = []
  session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => known.push(...registrations))
  await session.send('ServiceWorker.enable')
  return {
    push: async (scope) => {
      const { registrationId } = known.findLast(({ scopeURL, isDeleted }) => scopeURL === scope && !isDeleted)
      await session.send('ServiceWorker.deliverPushMessage', { origin: issuer, registrationId, data: '' })
    },
  }
}

for (const [lang, title, button] of [
  ['en', 'Something waits for your decision', 'Tell me in this browser'],
  ['pt', 'Há algo à espera da sua decisão', 'Avisar neste navegador'],
]) {
  test(`16 a browser subscribes, says one sentence (${lang}), opens the inbox, and is removed`, async () => {
    const visit = await visitor(one, { lang })
    const { context, page } = visit
    await context.grantPermissions(['notifications'], { origin: issuer })
    // Chromium would ask its vendor's push service for an address, which no test should do.
    await context.addInitScript(() => {
      PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
        if (!userVisibleOnly || applicationServerKey.length !== 65) throw new Error('not as it should be')
        return { endpoint: 'https://push.example.com/a-browser' }
      }
    })
    const person = someone()
    await register(visit, person)
    await open(page, '/ui/account/approvals')
    const devtools = await workers(visit)
    await Promise.all([page.waitForURL('**/approvals?done=push'), page.click(`text=${button}`)])
    const stored = `SELECT endpoint FROM push_subscription p JOIN account a USING (account_id) WHERE a.display_name = '${person.name}' AND p.endpoint = 'https://push.example.com/a-browser' LIMIT 1`
    assert.equal(await sql(stored), 'https://push.example.com/a-browser')

    await devtools.push(`${issuer}/ui/account/`)
    const shown = () =>
      page.evaluate(async () => {
        const registration = await navigator.serviceWorker.ready
        return (await registration.getNotifications()).map(({ title, tag }) => ({ title, tag }))
      })
    let said = await shown()
    for (let tries = 0; tries < 100 && !said.length; tries += 1) {
      await page.waitForTimeout(100)
      said = await shown()
    }
    assert.deepEqual(said, [{ title, tag: 'approvals' }])

    // Nobody can click a notification in a browser without a screen: the worker is told that somebody did.
    const worker = context.serviceWorkers().find((it) => it.url().includes('/ui/worker.js'))
    const opened = await worker.evaluate(async () => {
      let address
      clients.openWindow = async (to) => (address = to)
      const [notification] = await registration.getNotifications()
      dispatchEvent(new NotificationEvent('notificationclick', { notification }))
      await new Promise((resolve) => setTimeout(resolve, 50))
      return address
    })
    assert.equal(opened, '/ui/account/approvals')

    await page.click('details.menu summary')
    await Promise.all([page.waitForURL('**/approvals?done=removed'), page.click('button[value="push-remove"]')])
    assert.equal(await page.locator('button[value="push-remove"]').count(), 0)
    assert.deepEqual(visit.reports, [])
    await context.close()
  })
}
