// Where Porteiro's instructions go: refresh and client credentials under callgrind, 32 connections.
//
//   PORTEIRO_BINARY=… PEERS_LOAD=… node bench/peers/profile.mjs
//   callgrind_annotate --inclusive=yes --threshold=100 /tmp/peers-profile.<pid>.1     (refresh; .2 client credentials)
//
// The binary needs its symbols: cargo rustc --release --locked -p porteiro --bin porteiro -- -C strip=none

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { PORTS } from './lib/constants.mjs'
import { FORM, basic, form, forwarded, many } from './lib/http.mjs'
import { Postgres, ready, say, start, stop } from './lib/machine.mjs'
import { Run } from './lib/measure.mjs'
import { Porteiro } from './products/porteiro.mjs'

const scratch = mkdtempSync('/tmp/porteiro-peers.')
chmodSync(scratch, 0o755)
const env = { ...process.env, PORTEIRO_TEST_STATE: `${scratch}/state`, PORTEIRO_TEST_SMTP_PORT: String(PORTS.mail) }
const mail = (word) => execFileSync('scripts/mail', [word], { env, encoding: 'utf8' }).trim()
const postgres = new Postgres(`${scratch}/state`, PORTS.postgres)
postgres.start()
const context = { options: { sessions: 64 }, scratch, postgres, load: process.env.PEERS_LOAD, mail: { url: mail('start'), ca: mail('ca'), maildir: mail('maildir') } }
const product = new Porteiro(context)
const run = new Run(product, context)
run.database = postgres.database('peers_porteiro')
product.prepare(run.database)
const command = product.command()
const tool = ['--tool=callgrind', '--instr-atstart=no', `--callgrind-out-file=/tmp/peers-profile.${process.pid}`]
const child = start('valgrind', [...tool, command.program, ...command.words], command)
try {
  await ready(child, performance.now(), product.port, product.readyPath, product.host, { limit: 300_000, every: 200 })
  Object.assign(run, await product.setup())
  run.sessions = await many(context.options.sessions, 4, (number) => product.session(number))
  const lines = { ...forwarded(product.host), ...FORM, ...basic(run.client.id, run.client.secret) }
  const token = { port: product.port, head: `POST ${product.tokenPath} HTTP/1.1\r\n${Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`).join('')}`, expect: '"access_token"' }
  const values = (await run.families(token)).map((kept) => kept[0])
  await profile('refresh', { ...token, prefix: 'grant_type=refresh_token&refresh_token=', values, order: 'rotate', keep: ['refresh_token'] })
  await profile('client credentials', { ...token, values: [form({ grant_type: 'client_credentials', ...product.scopeFields() })], order: 'cycle' })
} finally {
  await stop(child)
  postgres.stop()
  mail('stop')
  rmSync(scratch, { recursive: true, force: true })
}

async function profile(name, plan) {
  const control = (...words) => execFileSync('callgrind_control', [...words, String(child.pid)], { stdio: 'ignore' })
  const warm = await run.once(name, plan, 32, 3)
  control('-i', 'on')
  control('-z')
  const measured = await run.once(name, plan.order === 'rotate' ? { ...plan, values: warm.values } : plan, 32, 15)
  control('-d')
  control('-i', 'off')
  say(`${name}: ${measured.operations} operations, ${measured.errors} errors ${measured.first_error ?? ''}`)
}
