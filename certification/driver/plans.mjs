// The plan files: JSON in which a text `${name}` stands for a value of the run, and `${a.b}` for a member of it.

import { readFile } from 'node:fs/promises'

const folder = new URL('../plans/', import.meta.url)
const read = async (name) => JSON.parse(await readFile(new URL(`${name}.json`, folder), 'utf8'))

/** Each key in the order of the results. */
export const KEYS = [
  'config', 'basic', 'formpost', 'dynamic', 'rp-logout', 'backchannel-logout', 'fapi2-mtls', 'fapi2-dpop', 'message-signing',
  'fapi-ciba-poll', 'fapi-ciba-ping', 'fapi-ciba-poll-mtls', 'fapi-ciba-ping-mtls',
]

export const load = (key) => {
  if (!KEYS.includes(key)) throw new Error(`there is no plan ${key}; there are ${KEYS.join(', ')}`)
  return read(key)
}

/** The configuration for the suite: what the plan says, with the values of this run. */
export const configuration = async (plan, values) => {
  const scripts = await read('scripts')
  return fill(plan.configuration, { ...values, scripts: scripts.scripts, commands: scripts.commands })
}

/** A value with every `${name}` in it replaced. */
export const fill = (value, values) => {
  if (Array.isArray(value)) return value.map((one) => fill(one, values))
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one, values)]))
  }
  if (typeof value !== 'string') return value
  const whole = /^\$\{([^}]+)\}$/.exec(value)
  if (whole) return fill(named(whole[1], values), values)
  return value.replace(/\$\{([^}]+)\}/g, (_, name) => String(named(name, values)))
}

const named = (name, values) => {
  const found = name.split('.').reduce((value, part) => value?.[part], values)
  if (found === undefined) throw new Error(`nothing is called \${${name}}`)
  return found
}
