// The `authorization` command of the Model Context Protocol's conformance suite, with a person at the browser that it asks
// for. interop/run runs it.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { port } from '../lib/app.mjs'
import { issuer, launch, newcomer, signIn } from '../lib/browser.mjs'
import { publish } from '../lib/document.mjs'
import { registerApi } from '../lib/operator.mjs'

/** The suite needs Node.js 22. Where this one is older, npm has brought another. */
const enough = Number(process.versions.node.split('.')[0]) >= 22
const node = enough ? process.execPath : `node_modules/node-linux-${process.arch}/bin/node`

const metadata = {
  client_name: 'Conformance suite',
  redirect_uris: ['http://127.0.0.1/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

describe('MCP conformance, authorization', () => {
  const app = `http://127.0.0.1:${port}`
  const resource = `${app}/mcp`
  let browser, page, person

  before(async () => {
    await registerApi('api.json', app)
    browser = await launch()
    ;({ page, person } = await newcomer(browser, 'Ana Souza', 'passkey'))
  })
  after(() => browser?.close())

  /** Runs the command as this client; the status of each check, by its id. */
  async function checks(clientId) {
    const results = await mkdtemp(join(tmpdir(), 'conformance-'))
    const settings = { url: issuer, 'client-id': clientId, resource, port, 'output-dir': results }
    const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
    const program = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'
    const suite = spawn(node, [program, 'authorization', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(suite, 'exit')
    let said = ''
    let visit
    suite.stdout.on('data', (more) => {
      said += more
      const address = new RegExp(`^${issuer}/connect/authorize\\S+$`, 'm').exec(said)?.[0]
      if (address && !visit) visit = page.goto(address).then(() => signIn(page, person))
    })
    const [status] = await ended
    await visit
    assert.equal(status, 0, said)
    const files = (await readdir(results, { recursive: true })).filter((name) => name.endsWith('checks.json'))
    const read = await Promise.all(files.map(async (name) => JSON.parse(await readFile(join(results, name), 'utf8'))))
    return Object.fromEntries(read.flat().map((check) => [check.id, check.status]))
  }
  const passed = {
    'authorization-server-metadata': 'SUCCESS',
    'authorization-server-metadata-cimd': 'SUCCESS',
    'authorization-code-grant': 'SUCCESS',
  }

  test('as a client that registered itself', { timeout: 60_000 }, async () => {
    const body = JSON.stringify(metadata)
    const headers = { 'content-type': 'application/json' }
    const registered = await (await fetch(`${issuer}/connect/register`, { method: 'POST', headers, body })).json()
    assert.deepEqual(await checks(registered.client_id), passed)
  })

  test('as a client that is known by its document', { timeout: 60_000 }, async () => {
    const site = await publish(metadata)
    try {
      await page.context().clearCookies()
      assert.deepEqual(await checks(site.url), passed)
      assert.equal(site.heard(), 1)
    } finally {
      site.stop()
    }
  })
})
