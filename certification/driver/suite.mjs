// The conformance suite's REST interface, as far as a run needs it.

import { setTimeout as sleep } from 'node:timers/promises'

const LONGEST_MODULE = 15 * 60 * 1000

export class Suite {
  constructor(base, token) {
    this.base = base.replace(/\/$/, '')
    this.token = token
  }

  async call(method, path, body, type = 'application/json') {
    const response = await fetch(`${this.base}${path}`, {
      method,
      headers: { 'content-type': type, ...(this.token && { authorization: `Bearer ${this.token}` }) },
      body,
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`)
    return text ? JSON.parse(text) : null
  }

  version() {
    return this.call('GET', '/api/server')
  }

  createPlan(name, variant, configuration) {
    const query = new URLSearchParams({ planName: name, variant: JSON.stringify(variant) })
    return this.call('POST', `/api/plan?${query}`, JSON.stringify(configuration))
  }

  /** Makes a module; those that start themselves are running afterwards. */
  createModule(plan, module) {
    const query = new URLSearchParams({ test: module.testModule, plan, variant: JSON.stringify(module.variant ?? {}) })
    return this.call('POST', `/api/runner?${query}`)
  }

  start(id) {
    return this.call('POST', `/api/runner/${id}`)
  }

  info(id) {
    return this.call('GET', `/api/info/${id}`)
  }

  log(id) {
    return this.call('GET', `/api/log/${id}`)
  }

  /** Waits for one of `states`; the last thing known when it takes too long. */
  async wait(id, states, longest = LONGEST_MODULE) {
    const end = Date.now() + longest
    for (;;) {
      const info = await this.info(id)
      if (states.includes(info.status) || Date.now() > end) return info
      await sleep(500)
    }
  }

  /** Stops a module that still runs. */
  cancel(id) {
    return this.call('DELETE', `/api/runner/${id}`).catch(() => null)
  }
}
