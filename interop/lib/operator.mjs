// What an operator does on the command line before an application can be used.

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const { PORTEIRO_BINARY, PORTEIRO_DATABASE_URL, PORTEIRO_ISSUER } = process.env

/** `porteiro COMMAND...`, and what it prints as names and values. */
async function porteiro(...command) {
  const settings = ['--database-url', PORTEIRO_DATABASE_URL, '--base-url', PORTEIRO_ISSUER]
  const { stdout } = await promisify(execFile)(PORTEIRO_BINARY, [...command, ...settings], { env: {} })
  return Object.fromEntries(stdout.split('\n').map((line) => line.split(/\s+/, 2)))
}

/** A file for a command, where the addresses become those of this run. `said` is its name or its content. */
async function file(said, app) {
  const text = typeof said === 'string' ? await readFile(said, 'utf8') : JSON.stringify(said)
  const here = join(await mkdtemp(join(tmpdir(), 'interop-')), 'said.json')
  await writeFile(here, text.replaceAll('https://app.example.org', app))
  return here
}

/** `porteiro clients create`: its `client_id` and, shown once, `client_secret`. */
export const createClient = async (said, app) => porteiro('clients', 'create', await file(said, app))

/** `porteiro apis register`. A running service has noticed after a second (docs/decisions/0030). */
export const registerApi = async (said, app) => {
  await porteiro('apis', 'register', await file(said, app))
  await sleep(1_100)
}

/** Promotes a client that registered itself, and gives it what only clients have that somebody has checked. */
export const promoteClient = async (client_id, metadata) => {
  await porteiro('clients', 'trust', client_id, 'verified')
  await porteiro('clients', 'edit', client_id, await file(metadata))
  await sleep(1_100)
}
