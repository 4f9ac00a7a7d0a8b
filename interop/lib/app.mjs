// An application in a process of its own, and the walk of a person through it.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { issuer, launch, newcomer, signIn } from './browser.mjs'

export const port = Number(process.env.PORTEIRO_APP_PORT)

/** Starts it and waits until it listens at `address`. What it prints is shown only if something goes wrong. */
export async function start(command, parameters, env = {}, address = env.APP_URL, seconds = 20) {
  const child = spawn(command, parameters, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (more) => (said += more))
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
  }
  const listening = () => fetch(address, { redirect: 'manual' }).then(() => true, () => false)
  for (let tries = 0; !(await listening()); tries += 1) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}: ${said}`)
    if (tries === seconds * 10) {
      await stop()
      throw new Error(`${command} does not listen: ${said}`)
    }
    await sleep(100)
  }
  return { said: () => said, stop }
}

/**
 * Every web application here has the same pages: `/` for everybody, `/private` for who is signed in, and `/bye` for who
 * signed out. `/private` shows what userinfo said and a fingerprint of the access token, with links to refresh and sign
 * out.
 */
export const walk = (library, { app, how, open, expected = [] }) =>
  describe(library, () => {
    let running, browser, page, person, first
    before(async () => {
      running = await open()
      browser = await launch()
      ;({ page, person } = await newcomer(browser, 'Ana Souza', how))
    })
    after(async () => {
      await browser?.close()
      await running?.stop()
    })
    const shown = async () => {
      const read = async (id) => (await page.innerText(`#${id}`)).trim()
      return { name: await read('name'), email: await read('email'), sub: await read('sub'), token: await read('token') }
    }
    const step = (name, doing) =>
      test(name, { timeout: 60_000 }, async () => {
        try {
          await doing()
        } catch (error) {
          error.message += `\nat ${page?.url()}\n${running?.said()}`
          throw error
        }
      })

    step(`a person signs in through the hosted screens (${how}) and sees the protected page`, async () => {
      await page.goto(app)
      assert.equal(await page.title(), 'App')
      await page.goto(`${app}/private`)
      assert.match(page.url(), new RegExp(`^${issuer}/ui/`))
      const steps = await signIn(page, person)
      for (const one of expected) assert.ok(steps.includes(one), `${one} is not among ${steps}`)
      assert.equal(page.url(), `${app}/private`)
      first = await shown()
      assert.deepEqual([first.name, first.email], [person.name, person.address])
      assert.match(first.sub, /^\S{8,}$/)
      assert.match(first.token, /^[0-9a-f]{12}$/)
    })

    step('the tokens are refreshed', async () => {
      await page.goto(`${app}/private`)
      assert.deepEqual(await shown(), first)
      await page.click('text=Refresh')
      await page.waitForFunction((old) => document.querySelector('#token')?.innerText.trim() !== old, first.token)
      assert.equal(page.url(), `${app}/private`)
      const { token, ...same } = await shown()
      assert.notEqual(token, first.token)
      assert.deepEqual(same, { name: first.name, email: first.email, sub: first.sub })
    })

    step('they sign out, here and at the provider', async () => {
      await page.click('text=Sign out')
      await page.waitForURL((url) => url.origin + url.pathname === `${app}/bye`)
      await page.goto(`${app}/private`)
      assert.match(page.url(), new RegExp(`^${issuer}/ui/`))
      // Nobody is known there any more: an address is asked for again.
      await page.waitForSelector('#identifier')
      await page.goto(`${issuer}/ui/account`)
      assert.match(page.url(), new RegExp(`^${issuer}/ui/(flow|sign-in)`))
    })
  })
