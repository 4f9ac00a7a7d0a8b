// An organization whose members sign in by its own directory, and the walk of a member through it.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { issuer, launch, press, signIn } from './browser.mjs'
import { found, join, verifyDomain } from './organization.mjs'
import { application, claims } from './relying.mjs'

/** The port of this machine on which the server looks for directories of organizations, by name and by address. */
export const directoryPort = Number(process.env.PORTEIRO_DIRECTORY_PORT)

/** What an administrator enters for a directory. */
export const definition = ({ issuer, client_id, client_secret, client_authentication, algorithm }) =>
  ({ name: 'Acme directory', issuer, client_id, client_secret, client_authentication, algorithm })

/** Sends the browser with a request, from there to the directory, and waits until its person was sent back. */
export async function throughDirectory(page, request, enter) {
  await page.goto(request.url)
  await page.click('button[value="federated/begin"]')
  await page.waitForURL((url) => url.origin !== issuer)
  const there = new URL(page.url()).origin
  await enter()
  // Here there may be nothing to ask: then the browser is at the application already.
  await page.waitForURL((url) => url.origin !== there)
}

/** Why the organization did not admit somebody, the newest first. */
export const rejections = async (place) =>
  (await place.manage('GET', '/audit-events?type=sso.rejected')).items.map(({ reason }) => reason)

/**
 * `open(browser)` starts a directory in which there are two people, and a client for this service:
 *
 * - what an administrator enters: `issuer`, `client_id`, `client_secret`, `client_authentication`, `algorithm`;
 * - `allow(connection)`: what its administrator does with the addresses that this service names;
 * - `enter(page, who)`: one of its people, `member` or `stranger`, signs in there;
 * - `domain`: that of their addresses;
 * - `signOut(page, who)`: they sign out there;
 * - `mistakes`: what could be entered instead, the step of the test that notices it, and what the explanation says;
 * - `stop()`.
 */
export const walkDirectory = (name, open) =>
  describe(name, () => {
    let browser, directory, app, place, connection, page, person, linked
    before(async () => {
      browser = await launch()
      directory = await open(browser)
      app = await application()
      place = await found(browser)
      ;({ page, person } = await join(browser, place, 'Ana Souza', 'passkey'))
    })
    after(async () => {
      await browser?.close()
      app?.stop()
      await directory?.stop()
    })
    const step = (name, doing) =>
      test(name, { timeout: 60_000 }, async () => {
        try {
          await doing()
        } catch (error) {
          error.message += `\nat ${page?.url()}\n${await page?.innerText('body').catch(() => '')}\n${directory?.said?.() ?? ''}`
          throw error
        }
      })
    const ask = (more) => app.ask({ organization: place.slug, ...more })
    const enter = async (page, who, request) => throughDirectory(page, request, () => directory.enter(page, who))
    const connect = (more) => place.manage('POST', '/connections', { ...definition(directory), ...more })
    const examine = ({ id }) => place.manage('POST', `/connections/${id}/test`)

    const offered = (page) => page.locator('button[value^="claim/"]').evaluateAll((all) => all.map(({ value }) => value))

    step('a mistake in the connection is explained by its test', async () => {
      for (const [more, failing, words] of directory.mistakes) {
        const wrong = await connect(more)
        const { ok, steps } = await examine(wrong)
        const last = steps.at(-1)
        assert.deepEqual([ok, last.step, last.ok], [false, failing, false], JSON.stringify(steps))
        assert.match(last.explanation, words)
        await place.manage('DELETE', `/connections/${wrong.id}`)
      }
    })

    step('an administrator connects it, and every step of the test passes', async () => {
      connection = await connect()
      const { ok, steps } = await examine(connection)
      assert.ok(ok, JSON.stringify(steps))
      assert.deepEqual(steps.map(({ step }) => step), ['redirect_uri', 'metadata', 'metadata_content', 'keys', 'key', 'userinfo'])
      assert.ok(steps[0].explanation.includes(connection.redirect_uri))
      await directory.allow(connection)
    })

    step('a member signs in by it for the first time, and links the identity by a proof of their own', async () => {
      const request = ask()
      await enter(page, 'member', request)
      assert.match(await page.innerText('main'), /Acme directory.* signed you in as /)
      const steps = await signIn(page, person)
      for (const one of ['claim/existing', 'passkey', 'claim/attach']) assert.ok(steps.includes(one), `${steps}`)
      linked = await app.redeemed(page, request)
      assert.equal(linked.organization, place.id)
    })

    step('from then on the directory signs them in to this organization, and to nothing else', async () => {
      await page.context().clearCookies()
      const request = ask({ prompt: 'consent' })
      await enter(page, 'member', request)
      assert.deepEqual(await signIn(page, person), ['consent/allow'])
      const tokens = await app.redeemed(page, request)
      const said = claims(tokens.id_token)
      assert.equal(said.sub, claims(linked.id_token).sub)
      assert.deepEqual([said.amr, said.acr], [['fed'], 'http://idmanagement.gov/ns/assurance/aal/1'])
      linked = tokens
      // The session answers for the organization without a question, and opens no account.
      const again = ask({ prompt: 'none' })
      await page.goto(again.url)
      assert.equal(claims((await app.redeemed(page, again)).id_token).sub, said.sub)
      assert.equal((await page.request.get(`${issuer}/v1/account`)).status(), 401)
    })

    step('the address that the organization hands out signs them in without an application', async () => {
      const other = await (await browser.newContext({ locale: 'en-US' })).newPage()
      await enter(other, 'member', { url: `${issuer}/o/${place.slug}` })
      await other.waitForSelector('text=You are signed in to Acme')
      const request = ask({ prompt: 'none' })
      await other.goto(request.url)
      assert.equal(claims((await app.redeemed(other, request)).id_token).sub, claims(linked.id_token).sub)
      await other.goto(`${issuer}/o/${place.slug}`)
      assert.match(await other.innerText('main'), /You are signed in to Acme/)
      await other.context().close()
    })

    step('where more is required than the word of a directory, they also prove their account', async () => {
      const level = 'http://idmanagement.gov/ns/assurance/aal/2'
      await page.goto(ask({ acr_values: level, prompt: 'none' }).url)
      assert.equal((await app.answered(page)).get('error'), 'login_required')
      const request = ask({ acr_values: level })
      await page.goto(request.url)
      assert.ok((await signIn(page, person)).includes('passkey'))
      const tokens = await app.redeemed(page, request)
      const said = claims(tokens.id_token)
      assert.deepEqual([said.acr, said.sub], [level, claims(linked.id_token).sub])
      linked = tokens
    })

    step('they sign out', async () => {
      await app.signOut(page, linked.id_token)
      await page.goto(ask({ prompt: 'none' }).url)
      assert.equal((await app.answered(page)).get('error'), 'login_required')
    })

    step('somebody else in the directory gets in only with an account that is a member', async () => {
      const elsewhere = await browser.newContext({ locale: 'en-US' })
      const other = await elsewhere.newPage()
      await enter(other, 'stranger', ask())
      assert.match(await other.innerText('main'), /You need an account that is already a member of the organization/)
      assert.deepEqual(await offered(other), ['claim/existing'])
      assert.match((await rejections(place))[0], /^no member is linked to the identity/)
      await press(other, 'claim/existing')
      assert.ok(await other.isVisible('#identifier'))
      await elsewhere.close()
    })

    step('where a verified domain vouches for their address, somebody new joins by signing in', async () => {
      await verifyDomain(place, directory.domain)
      const path = `/connections/${connection.id}`
      const { etag } = await place.manage('GET', path)
      await place.manage('PUT', path, { ...definition(directory), jit_role: 'member' }, { 'if-match': etag })
      const joined = await (await browser.newContext({ locale: 'en-US' })).newPage()
      const request = ask()
      await enter(joined, 'stranger', request)
      assert.deepEqual(await offered(joined), ['claim/new', 'claim/existing'], `${await rejections(place)}`)
      await press(joined, 'claim/new')
      await signIn(joined, { at: issuer })
      const { sub, amr } = claims((await app.redeemed(joined, request)).id_token)
      assert.deepEqual(amr, ['fed'])
      assert.notEqual(sub, claims(linked.id_token).sub)
      // A member from now on, with an account that has nothing but this identity.
      const again = ask({ prompt: 'none' })
      await joined.goto(again.url)
      assert.equal(claims((await app.redeemed(joined, again)).id_token).sub, sub)
      await joined.context().close()
    })

    step('whoever signs out there is signed out here', async () => {
      const other = await (await browser.newContext({ locale: 'en-US' })).newPage()
      const request = ask()
      await enter(other, 'member', request)
      await signIn(other, { at: issuer })
      assert.ok((await app.redeemed(other, request)).id_token)
      await directory.signOut(other, 'member')
      for (let tries = 0; ; tries += 1) {
        await other.goto(ask({ prompt: 'none' }).url)
        if ((await app.answered(other)).get('error') === 'login_required') break
        assert.ok(tries < 100, 'the session here outlived the one there')
        await sleep(200)
      }
      await other.context().close()
    })
  })
