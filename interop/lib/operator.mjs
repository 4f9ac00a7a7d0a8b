// What an operator does on the command line before an application can be used.

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const { PORTEIRO_BINARY, PORTEIRO_DATABASE_URL, PORTEIRO_ISSUER } = process.env

/** The server of this run. A folder that starts another one names it instead. */
const here = { database: PORTEIRO_DATABASE_URL, issuer: PORTEIRO_ISSUER }

/** What `porteiro COMMAND...` prints. */
async function porteiro(command, { database, issuer } = here) {
  const settings = ['--database-url', database, '--base-url', issuer]
  const { stdout } = await promisify(execFile)(PORTEIRO_BINARY, [...command, ...settings], { env: {} })
  return stdout
}

/** A file for a command, where the addresses become those of this run. `said` is its name or its content. */
async function file(said, app) {
  const text = typeof said === 'string' ? await readFile(said, 'utf8') : JSON.stringify(said)
  const path = join(await mkdtemp(join(tmpdir(), 'interop-')), 'said.json')
  await writeFile(path, text.replaceAll('https://app.example.org', app))
  return path
}

/** `porteiro clients create`: its `client_id` and, shown once, `client_secret`. */
export const createClient = async (said, app, at = here) => {
  const printed = await porteiro(['clients', 'create', await file(said, app)], at)
  return Object.fromEntries(printed.split('\n').map((line) => line.split(/\s+/, 2)))
}

/** `porteiro clients edit`. A running service has noticed after a second (docs/decisions/0030). */
export const editClient = async (client_id, metadata, at = here) => {
  await porteiro(['clients', 'edit', client_id, await file(metadata)], at)
  await sleep(1_100)
}

/** `porteiro api-keys create`: a key of the platform. */
export const platformKey = async (...permissions) => {
  const printed = await porteiro(['api-keys', 'create', '--name', 'interop', '--permissions', permissions.join(',')])
  return printed.trim()
}

/** `porteiro apis register`, noticed as late. */
export const registerApi = async (said, app) => {
  await porteiro(['apis', 'register', await file(said, app)])
  await sleep(1_100)
}

/** Promotes a client that registered itself, and gives it what only clients have that somebody has checked. */
export const promoteClient = async (client_id, metadata) => {
  await porteiro(['clients', 'trust', client_id, 'verified'])
  await editClient(client_id, metadata)
}
