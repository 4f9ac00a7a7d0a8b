// Runs plans of a running conformance suite against Porteiro and writes what came out.
//
//   node main.mjs [KEY | KEY:MODULE,MODULE ...]
//
// `certification/run` sets the environment up. A whole plan is written to results/KEY.json; a part of one is only printed.

import { readFile, writeFile } from 'node:fs/promises'

import * as approver from './approver.mjs'
import * as clients from './clients.mjs'
import { compare } from './expected.mjs'
import { people, reauthenticate, register } from './person.mjs'
import { KEYS, configuration, load } from './plans.mjs'
import { Porteiro } from './porteiro.mjs'
import { Suite } from './suite.mjs'

// A module that logs nothing for this long waits for something that will not come. The longest wait of their own is 90 s.
const STALLED = 150_000
const LOOK_EVERY = 10_000
const ENDED = ['FINISHED', 'INTERRUPTED']

const environment = process.env
const suite = new Suite(environment.CONFORMANCE_SUITE, environment.CONFORMANCE_TOKEN)
const surroundings = {
  binary: environment.PORTEIRO_BINARY,
  scratch: environment.CERTIFICATION_SCRATCH,
  port: Number(environment.CERTIFICATION_PORT),
  databaseServer: environment.PORTEIRO_TEST_DATABASE_URL,
  smtp: environment.PORTEIRO_TEST_SMTP_URL,
  smtpCa: environment.PORTEIRO_TEST_SMTP_CA,
  maildir: environment.PORTEIRO_TEST_MAILDIR,
  suiteCa: environment.CONFORMANCE_SUITE_CA,
  ca: await readFile(`${environment.CERTIFICATION_SCRATCH}/ca.pem`),
}

let running

const runPlan = async (key, only) => {
  const plan = await load(key)
  const porteiro = new Porteiro(surroundings, key, plan.front, plan.settings)
  running = porteiro
  try {
    await porteiro.start()
    const known = people(key)
    const browsers = {}
    for (const [name, person] of Object.entries(known)) browsers[name] = await register(porteiro, person)
    const base = `${suite.base}/test/a/${plan.configuration.alias}`
    const certificates = {
      mtls: await clients.certificate(porteiro.folder, 'client1'),
      mtls2: await clients.certificate(porteiro.folder, 'client2'),
    }
    const values = {
      issuer: porteiro.issuer,
      mtls_base: porteiro.mtls,
      suite: suite.base,
      approvals: porteiro.approvals,
      ...known,
      ...certificates,
      clients: await clients.make(porteiro, { base, ...known }, plan.clients, certificates),
    }
    // `delegates`: the scopes that the person delegates to the clients, whose requests they decide.
    if (plan.delegates) {
      await reauthenticate(browsers.without_phone, known.without_phone)
      await approver.delegate(browsers.without_phone, values.clients, plan.delegates)
      porteiro.approver = await approver.start(porteiro, browsers.without_phone)
    }
    const modules = []
    // `also`: modules that exist in another variant of the plan only.
    for (const part of [{ variant: plan.variant }, ...(plan.also ?? [])]) {
      const made = await suite.createPlan(plan.plan, part.variant, await configuration(plan, values))
      for (const module of made.modules) {
        const left = [part.modules, only].some((names) => names && !names.includes(module.testModule))
        if (!left) modules.push(await runModule(porteiro, made.id, module))
      }
    }
    const { version, revision } = await suite.version()
    return {
      suite: { version, commit: revision },
      date: new Date().toISOString().slice(0, 10),
      porteiro: await porteiro.commit(),
      plan: plan.plan,
      variant: plan.variant,
      modules,
    }
  } finally {
    await porteiro.stop()
  }
}

const runModule = async (porteiro, plan, module) => {
  const began = Date.now()
  const { id } = await suite.createModule(plan, module)
  let info = await suite.wait(id, ['CONFIGURED', 'RUNNING', 'WAITING', ...ENDED], 60_000)
  if (info.status === 'CONFIGURED') {
    // The one module that waits for us: it read the keys and wants them replaced before it goes on.
    if (module.testModule === 'oidcc-server-rotate-keys') await porteiro.rotateKeys()
    await suite.start(id)
  }
  info = await finished(id)
  const log = await suite.log(id)
  const notes = [...new Set(log.map(note).filter(Boolean))]
  const result = info.status === 'FINISHED' ? info.result : 'INTERRUPTED'
  const seconds = Math.round((Date.now() - began) / 1000)
  console.log(`${result.padEnd(11)} ${module.testModule} (${seconds} s, ${id})${notes.map((one) => `\n            ${one}`).join('')}`)
  return { name: module.testModule, ...(module.variant && { variant: module.variant }), result, notes }
}

/** Waits while something happens. */
const finished = async (id) => {
  let [entries, changed] = [-1, Date.now()]
  for (;;) {
    const info = await suite.wait(id, ENDED, LOOK_EVERY)
    if (ENDED.includes(info.status)) return info
    const now = (await suite.log(id)).length
    if (now !== entries) [entries, changed] = [now, Date.now()]
    if (Date.now() - changed > STALLED) {
      await suite.cancel(id)
      return suite.wait(id, ENDED, 30_000)
    }
  }
}

/** A failure or a warning by the name of the condition that found it. */
const note = ({ result, src }) => {
  const kind = { FAILURE: 'failure', WARNING: 'warning' }[result]
  return kind && `${kind}: ${src}`
}

// Stopped from outside: the server and its database go too.
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await running?.stop()
    process.exit(130)
  })
}

let unexpected = 0
const wanted = process.argv.slice(2)
for (const argument of wanted.length ? wanted : KEYS) {
  const [key, only] = argument.split(':')
  console.log(`\n== ${key}`)
  const outcome = await runPlan(key, only?.split(','))
  if (!only) {
    const file = new URL(`../results/${key}.json`, import.meta.url)
    await writeFile(file, `${JSON.stringify(outcome, null, 2)}\n`)
  }
  const surprises = await compare(key, outcome.modules, only?.split(','))
  for (const line of surprises) console.log(`  ${line}`)
  unexpected += surprises.length
  const count = outcome.modules.reduce((sums, { result }) => ({ ...sums, [result]: (sums[result] ?? 0) + 1 }), {})
  console.log(`${key}: ${Object.entries(count).map(([result, number]) => `${number} ${result}`).join(', ')}`)
}
console.log(unexpected ? `certification: ${unexpected} differences from expected.json` : 'certification: as expected')
process.exitCode = unexpected ? 1 : 0
