// Provisioning as two checkers of SCIM servers see it. interop/run runs it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { before, describe, test } from 'node:test'
import { issuer, launch } from '../lib/browser.mjs'
import { found } from '../lib/organization.mjs'

// What fails, exactly: README.md says why. One that does not fail any more has to be removed here and there.
const tester = [
  "User check_remove_attribute: Failed to remove attribute 'active': active must be true or false",
  "Group check_add_attribute: Attribute 'members' was not added or has unexpected value (display, type)",
  "Group check_replace_attribute: Attribute 'members' was not replaced or has unexpected value (display, type)",
]
// The answer is 501, which the checker takes for an answer.
const unsupported = ['User', 'Group'].map(
  (type) => `${type} search_with_attributes: POST /.search: searching several resource types at once is not supported by the server`,
)
const sanity = [
  'PATCH /Groups/{id}: Expected HTTP 200, got 204 (RFC 7644 §3.3); Response body is empty',
  'PATCH /Groups/{id} add member: Expected 200, got 400',
  'PATCH /Groups/{id} remove members: Expected 200, got 204',
]
// Resource types of a draft, which ResourceTypes does not list.
const drafts = ['Agent CRUD Lifecycle', 'AgenticApplication CRUD Lifecycle', 'Agent Rapid Lifecycle']

/** What a program printed as JSON, whether it was content or not. */
const run = (program, parameters, env) =>
  new Promise((resolve, reject) => {
    const options = { env: { ...process.env, ...env }, maxBuffer: 64 << 20 }
    execFile(`venv/bin/${program}`, parameters, options, (error, stdout, stderr) => {
      if (stdout.startsWith('{')) resolve(JSON.parse(stdout))
      else reject(new Error(`${program}: ${stdout}${stderr}`, { cause: error }))
    })
  })

describe('SCIM 2.0', { timeout: 300_000 }, () => {
  let url, key

  before(async () => {
    const browser = await launch()
    try {
      const place = await found(browser, ['api-keys:write', 'scim:provision'])
      const made = await place.manage('POST', '/api-keys', { name: 'Directory', permissions: ['scim:provision'] })
      url = `${issuer}/scim/v2/${place.id}`
      key = made.secret
    } finally {
      await browser.close()
    }
  })

  test('scim2-tester finds nothing but what is explained', async () => {
    const { passed, skipped, failed } = await run('python', ['check.py'], { SCIM_URL: url, SCIM_KEY: key })
    assert.deepEqual(failed, tester)
    assert.deepEqual(skipped, unsupported)
    assert.ok(passed >= 126, `${passed} checks passed`)
  })

  for (const profile of [[], ['--profile', 'entra']])
    test(`${['scim-sanity', ...profile].join(' ')} finds nothing but what is explained`, async () => {
      const parameters = ['probe', url, '--token', key, '--json-output', '--i-accept-side-effects', ...profile]
      const { results } = await run('scim-sanity', parameters)
      const of = (...wanted) => results.filter(({ status }) => wanted.includes(status))
      assert.deepEqual(of('fail', 'error', 'warn').map(({ name, message }) => `${name}: ${message}`), sanity)
      assert.deepEqual(of('skip').map(({ name }) => name), drafts)
      assert.ok(of('pass').length >= 25, `${of('pass').length} passed`)
    })
})
