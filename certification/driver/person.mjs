// The people who sign in during a run: registered through the flows like anybody (docs/flows.md), with a password,
// because the suite's scripted browser has no passkeys, a mail address and, one of them, a phone number.

import { readFile, readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** Two, with addresses of their own for each plan: plans that run at the same time share one mail server. */
export const people = (key) => ({
  person: {
    name: 'Alice Certification',
    email: `alice.${key}@example.test`,
    password: 'a walk along the river at dawn',
    phone: '+5511987654321',
  },
  // Who is to prove themselves anew must do it as strongly as they can, and the scripted browser reads no text messages.
  without_phone: {
    name: 'Bruno Certification',
    email: `bruno.${key}@example.test`,
    password: 'a cup of coffee at the station',
  },
})

/** Registers; gives the browser in which they are signed in. Afterwards `person.id` is their id. */
export const register = async (porteiro, person) => {
  const browser = new Browser(porteiro.issuer)
  const began = Date.now()
  const flow = await browser.call('POST', '/v1/flows', { kind: 'register' })
  await browser.walk(flow, {
    'email_code/check': async () => ({ code: await mailed(porteiro.maildir, person.email, began) }),
    'email_code/send': () => ({ identifier: person.email }),
    'profile/set': () => ({ display_name: person.name }),
    'password/set': () => ({ new_password: person.password }),
  })
  if (person.phone) await addPhone(browser, porteiro, person)
  person.id = (await browser.call('GET', '/v1/account')).id
  return browser
}

/** Proves the password anew, as whatever gives something away demands. */
export const reauthenticate = async (browser, person) => {
  const flow = await browser.call('POST', '/v1/flows', { kind: 'reauthenticate' })
  await browser.walk(flow, { 'password/check': () => ({ identifier: person.email, password: person.password }) })
}

const addPhone = async (browser, porteiro, person) => {
  let enrol = await browser.call('POST', '/v1/flows', { kind: 'enrol', enrol: 'phone' })
  const take = async (name, fields) => {
    enrol = await browser.call('POST', `/v1/flows/${enrol.id}/${name}`, { ...fields, step: enrol.step })
  }
  if (enrol.stage === 'raise') await take('password/check', { identifier: person.email, password: person.password })
  await take('phone/add', { number: person.phone })
  await take('phone/verify', { code: await texted(porteiro.texts) })
  if (enrol.stage !== 'complete') throw new Error(`the phone number was not bound: ${enrol.stage}`)
}

class Browser {
  #cookies = new Map()

  constructor(issuer) {
    this.issuer = issuer
  }

  /** Takes the first of `answers` that is offered, until the flow is over. */
  async walk(flow, answers) {
    while (flow.actions?.length) {
      const offered = flow.actions.map((action) => action.name)
      const name = Object.keys(answers).find((name) => offered.includes(name))
      if (!name) throw new Error(`at ${flow.stage} nothing of ${offered} is for us`)
      const body = { ...(await answers[name]()), step: flow.step }
      flow = await this.call('POST', `/v1/flows/${flow.id}/${name}`, body)
    }
    return flow
  }

  async call(method, path, body) {
    const response = await fetch(new URL(path, this.issuer), {
      method,
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        origin: this.issuer,
        cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      },
      body: JSON.stringify(body),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)
      this.#cookies.set(name, value)
    }
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }
}

/** The code in a mail that came after `since`. */
const mailed = async (maildir, address, since) => {
  for (let tries = 0; tries < 300; tries += 1) {
    for (const file of (await readdir(`${maildir}/new`)).sort().reverse()) {
      if (Number(file.split('.')[0]) < Math.floor(since / 1000)) continue
      const text = await readFile(`${maildir}/new/${file}`, 'utf8').catch(() => '')
      const code = text.includes(`Envelope-to: ${address}`) && /^Subject: (\d{6})/m.exec(text)
      if (code) return code[1]
    }
    await sleep(100)
  }
  throw new Error(`no mail to ${address}`)
}

const texted = async (texts) => {
  for (let tries = 0; tries < 300; tries += 1) {
    const code = /\b\d{6}\b/.exec(texts.at(-1)?.text ?? '')
    if (code) return code[0]
    await sleep(100)
  }
  throw new Error('no text message came')
}
