// A person and their browser, without a screen: keeps cookies, and walks through flows by JSON (docs/flows.md).

import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

export class Person {
  #cookies = new Map()
  #password = `${randomUUID()} by the river`

  /** `mail(address)` gives the code in the newest mail to that address. */
  constructor(issuer, name, address, mail) {
    Object.assign(this, { issuer, name, address, mail })
    // So that it can be handed on by itself.
    this.visit = this.visit.bind(this)
  }

  /** The same person at another computer: nobody is signed in there. */
  elsewhere() {
    const other = new Person(this.issuer, this.name, this.address, this.mail)
    other.#password = this.#password
    return other
  }

  /** Makes the account, with a password. Signed in afterwards. */
  async register() {
    const flow = await this.call('POST', '/v1/flows', { kind: 'register' })
    return this.walk(flow, {
      'email_code/check': async () => ({ code: await this.mail(this.address) }),
      'email_code/send': () => ({ identifier: this.address }),
      'profile/set': () => ({ display_name: this.name }),
      'password/set': () => ({ new_password: this.#password }),
    })
  }

  /** Goes where a client sends them, does what is asked there, and says where they were sent in the end. */
  async visit(address, answer = 'allow') {
    const done = await this.walk(await this.call('GET', address), {
      'password/check': () => ({ identifier: this.address, password: this.#password }),
      [`consent/${answer}`]: () => ({}),
      'enrol/skip': () => ({}),
    })
    const next = done.continue
    switch (next?.type) {
      case 'redirect':
        return new URL(next.uri)
      case 'form_post':
        return new Request(next.action, { method: 'POST', body: new URLSearchParams(next.fields) })
      default:
        throw new Error(`nowhere to go from ${JSON.stringify(done)}`)
    }
  }

  /** Types the code that a device shows, and says what came of it. */
  async confirm(code, answer = 'allow') {
    const done = await this.walk(await this.call('POST', '/v1/flows', { kind: 'confirm_device' }), {
      'password/check': () => ({ identifier: this.address, password: this.#password }),
      'device/look': () => ({ user_code: code }),
      [`consent/${answer}`]: () => ({}),
    })
    return done.continue
  }

  /** Lets a client act for them within a scope (docs/agents.md). They prove who they are once more. */
  async delegate(client_id, scope) {
    await this.walk(await this.call('POST', '/v1/flows', { kind: 'reauthenticate' }), {
      'password/check': () => ({ password: this.#password }),
    })
    return this.call('POST', '/v1/account/delegations', { client_id, scope })
  }

  /** Decides what a client asks them (docs/agents.md). They know it by its message, and read the number off the client. */
  async decide(message, verb, number) {
    const { items } = await this.call('GET', '/v1/account/approvals?state=pending')
    const { id } = items.find((item) => item.binding_message === message)
    return this.call('POST', `/v1/account/approvals/${id}/${verb}`, { number })
  }

  /** Takes the first of `answers` that is offered, until the flow is over. The service says what is next, never we. */
  async walk(flow, answers) {
    while (flow.actions?.length) {
      const offered = flow.actions.map((action) => action.name)
      const name = Object.keys(answers).find((name) => offered.includes(name))
      if (!name) throw new Error(`at ${flow.stage} nothing of ${offered} is for us`)
      flow = await this.call('POST', `/v1/flows/${flow.id}/${name}`, { ...(await answers[name](flow)), step: flow.step })
    }
    return flow
  }

  /** One request as a browser sends it. */
  async call(method, address, body) {
    const response = await fetch(new URL(address, this.issuer), {
      method,
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        origin: this.issuer,
        cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body && JSON.stringify(body),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)
      if (value) this.#cookies.set(name, value)
      else this.#cookies.delete(name)
    }
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${address}: ${response.status} ${text}`)
    return text && JSON.parse(text)
  }
}

/** Reads mail from what `porteiro serve --dev` prints without a mail server. */
export const mailFrom = (file) => async (address) => {
  for (let tries = 0; tries < 600; tries += 1) {
    const mails = (await readFile(file, 'utf8')).split(`--- mail to ${address} ---\nSubject: `)
    const code = mails.length > 1 && /^\d{6}/.exec(mails.at(-1))?.[0]
    if (code) return code
    await sleep(100)
  }
  throw new Error(`no mail to ${address}`)
}
