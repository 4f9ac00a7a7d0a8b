// bench/peers/run: each product in turn on one PostgreSQL, the same work, the same load generator. See README.md.

import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { ALGORITHM, PORTS } from './lib/constants.mjs'
import { Postgres, killAll, machine, say } from './lib/machine.mjs'
import { Run } from './lib/measure.mjs'
import { write } from './lib/report.mjs'
import { Hydra, HydraCheapHash } from './products/hydra.mjs'
import { Keycloak } from './products/keycloak.mjs'
import { NodeOidcProvider } from './products/node-oidc-provider.mjs'
import { Porteiro } from './products/porteiro.mjs'

const PRODUCTS = [Porteiro, Hydra, NodeOidcProvider, Keycloak, HydraCheapHash]
const LONG = { seconds: 4, warmUp: 5, concurrency: [1, 8, 32, 64], sessions: 128, codes: 4000, codeSeconds: 6, starts: 3, idle: 10 }
// A product that would begin later than this is left out, so that the whole ends within twenty minutes.
const LATEST = 15.5 * 60_000
const SHORT = { seconds: 1, warmUp: 1, concurrency: [1, 32], sessions: 64, codes: 200, codeSeconds: 3, starts: 1, idle: 1 }

const words = process.argv.slice(2)
const short = words.includes('--short')
const only = words.find((word) => word.startsWith('--only='))?.slice(7).split(',')
const options = short ? SHORT : LONG

const cache = process.env.PEERS_CACHE
if (words.includes('--install')) {
  install()
  process.exit()
}
const scratch = mkdtempSync('/tmp/porteiro-peers.')
chmodSync(scratch, 0o755)
const context = { options, scratch, cache, load: process.env.PEERS_LOAD }
const mailEnv = { ...process.env, PORTEIRO_TEST_STATE: `${scratch}/state`, PORTEIRO_TEST_SMTP_PORT: String(PORTS.mail) }
const mail = (word) => execFileSync('scripts/mail', [word], { env: mailEnv, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()

const began = Date.now()
context.postgres = new Postgres(`${scratch}/state`, PORTS.postgres)
const results = { date: new Date().toISOString(), algorithm: ALGORITHM, options, machine: machine(), products: [], missing: [] }
let failed = false
// At the time limit, or when somebody has seen enough.
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    say(`ended by ${signal}`)
    killAll()
    context.postgres.stop()
    mail('stop')
    rmSync(scratch, { recursive: true, force: true })
    process.exit(1)
  })
}
try {
  const ready = chosen(context).filter((product) => isReady(product))
  context.postgres.start()
  results.postgres = context.postgres.sql('SELECT version()').split(' ').slice(0, 2).join(' ')
  context.mail = { url: mail('start'), ca: mail('ca'), maildir: mail('maildir') }
  for (const product of ready) {
    if (Date.now() - began > LATEST) {
      results.missing.push({ name: product.name, error: 'left out: the others took too long' })
      continue
    }
    try {
      const run = new Run(product, product.extra ? { ...context, options: { ...options, concurrency: options.concurrency.filter((level) => level === 32), starts: 1 } } : context)
      results.products.push(await run.all())
    } catch (error) {
      failed = true
      results.missing.push({ name: product.name, error: String(error.message).slice(0, 600) })
      say(`${product.name}: ${error.stack}`)
    }
  }
} finally {
  context.postgres.stop()
  mail('stop')
  if (!process.env.PEERS_KEEP) rmSync(scratch, { recursive: true, force: true })
}
results.seconds = Math.round((Date.now() - began) / 1000)
results.machine.load_after = machine().load
const name = `${results.date.slice(0, 16).replaceAll(':', '').replace('T', '-')}${short ? '-short' : ''}`
mkdirSync('bench/peers/results', { recursive: true })
const file = words.includes('--no-write') || short ? `${process.env.PEERS_RESULTS ?? '/tmp'}/peers-${name}.json` : `bench/peers/results/${name}.json`
writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`)
say(`${results.products.length} products in ${results.seconds} s; raw results in ${file}`)
const errors = results.products.flatMap((product) => product.cells).reduce((sum, cell) => sum + cell.errors, 0)
console.log(write(results, { into: short || words.includes('--no-write') ? undefined : 'docs' }))
if (failed || errors > 0) {
  say(`${errors} errors in all: figures of cells with errors do not count`)
  process.exitCode = 1
}

function isReady(product) {
  if (product.installed()) return true
  say(`${product.name}: not installed, left out`)
  results.missing.push({ name: product.name, error: installationError(product) ?? 'not installed' })
  return false
}

/** Comes before the run and its time limit: nothing is downloaded or built beside a measurement. */
function install() {
  mkdirSync(cache, { recursive: true })
  for (const product of chosen({ cache })) {
    rmSync(errorFile(product), { force: true })
    if (product.installed() || !product.install) continue
    say(`${product.name}: installing`)
    try {
      product.install()
    } catch (error) {
      writeFileSync(errorFile(product), String(error.message).slice(0, 600))
      say(`${product.name}: cannot be installed: ${error.message}`)
    }
  }
}

function chosen(given) {
  return PRODUCTS.map((Product) => new Product(given)).filter((product) => (only ? only.includes(product.key) : !(short && product.extra)))
}

function errorFile(product) {
  return `${cache}/${product.key}.error`
}

function installationError(product) {
  return existsSync(errorFile(product)) ? readFileSync(errorFile(product), 'utf8') : undefined
}
