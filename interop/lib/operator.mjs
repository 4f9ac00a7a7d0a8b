// What an operator does on the command line before an application can be used.

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const { PORTEIRO_BINARY, PORTEIRO_DATABASE_URL, PORTEIRO_ISSUER } = process.env

/** `porteiro COMMAND... FILE`, where the addresses in the file become those of this run. `said` is its name or its content. */
async function porteiro(command, said, app) {
  const text = typeof said === 'string' ? await readFile(said, 'utf8') : JSON.stringify(said)
  const here = join(await mkdtemp(join(tmpdir(), 'interop-')), 'said.json')
  await writeFile(here, text.replaceAll('https://app.example.org', app))
  const settings = ['--database-url', PORTEIRO_DATABASE_URL, '--base-url', PORTEIRO_ISSUER]
  const { stdout } = await promisify(execFile)(PORTEIRO_BINARY, [...command, here, ...settings], { env: {} })
  return Object.fromEntries(stdout.split('\n').map((line) => line.split(/\s+/, 2)))
}

/** `porteiro clients create`: its `client_id` and, shown once, `client_secret`. */
export const createClient = (said, app) => porteiro(['clients', 'create'], said, app)

/** `porteiro apis register`. A running service has noticed after a second (docs/decisions/0030). */
export const registerApi = async (said, app) => {
  await porteiro(['apis', 'register'], said, app)
  await sleep(1_100)
}
