// What an operator does on the command line before an application can be used.

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const { PORTEIRO_BINARY, PORTEIRO_DATABASE_URL, PORTEIRO_ISSUER } = process.env

/** `porteiro COMMAND... FILE`, where the addresses in `file` become those of this run. */
async function porteiro(command, file, app) {
  const text = (await readFile(file, 'utf8')).replaceAll('https://app.example.org', app)
  const here = join(await mkdtemp(join(tmpdir(), 'interop-')), 'said.json')
  await writeFile(here, text)
  const settings = ['--database-url', PORTEIRO_DATABASE_URL, '--base-url', PORTEIRO_ISSUER]
  const { stdout } = await promisify(execFile)(PORTEIRO_BINARY, [...command, here, ...settings], { env: {} })
  return Object.fromEntries(stdout.split('\n').map((line) => line.split(/\s+/, 2)))
}

/** `porteiro clients create`: its `client_id` and, shown once, `client_secret`. */
export const createClient = (file, app) => porteiro(['clients', 'create'], file, app)

/** `porteiro apis register`. */
export const registerApi = (file, app) => porteiro(['apis', 'register'], file, app)
