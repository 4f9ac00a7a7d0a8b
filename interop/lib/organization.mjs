// An organization, what its owner does with a key, and its members.

import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { issuer, newcomer } from './browser.mjs'
import { platformKey } from './operator.mjs'

const read = (text, ok, what) => {
  if (!ok) throw new Error(`${what}: ${text}`)
  return text && JSON.parse(text)
}

/** A call as the person who is signed in at the page. */
const asPerson = async (page, method, path, body) => {
  const options = { method, headers: { origin: issuer }, ...(body && { data: body }) }
  const response = await page.request.fetch(`${issuer}${path}`, options)
  return read(await response.text(), response.ok(), `${method} ${path}`)
}

/** A call with a key. The answer, with the version that a change has to name. */
export const call = async (key, method, path, body, more = {}) => {
  const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }), ...more }
  const response = await fetch(`${issuer}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  return { etag: response.headers.get('etag'), ...read(await response.text(), response.ok, `${method} ${path}`) }
}

/** What an administrator of connections may do, and gives to those whom they invite. */
const usual = ['connections:read', 'connections:write', 'domains:write', 'invitations:write', 'organization:read', 'audit:read']

/** A new organization. Its owner has an account, and manages it with a key: `manage(method, path, body)`. */
export async function found(browser, permissions = usual) {
  const { page, person } = await newcomer(browser, 'Olga Lima', 'password', { stay: true })
  const slug = `acme-${randomUUID().slice(0, 8)}`
  const { id: owner } = await asPerson(page, 'GET', '/v1/account')
  const platform = await platformKey('platform.organizations:write')
  const { id } = await call(platform, 'POST', '/v1/platform/organizations', { name: 'Acme', slug, owner })
  // A key is made only by somebody who just proved who they are.
  const flow = await asPerson(page, 'POST', '/v1/flows', { kind: 'reauthenticate' })
  await asPerson(page, 'POST', `/v1/flows/${flow.id}/password/check`, { step: flow.step, password: person.password })
  const { secret } = await asPerson(page, 'POST', '/v1/account/api-keys', { organization: slug, name: 'interop', permissions })
  await page.context().close()
  const manage = (method, path, body, headers) => call(secret, method, `/v1/organizations/${id}${path}`, body, headers)
  return { id, slug, key: secret, manage }
}

/** A domain of the organization's. No name server of this machine answers for it, so it is verified by hand. */
export async function verifyDomain(place, name) {
  const { id } = await place.manage('POST', '/domains', { name })
  const change = `UPDATE organization_domain SET state = 'verified' WHERE domain_id = '${id}'`
  await promisify(execFile)('psql', ['-Xq', process.env.PORTEIRO_DATABASE_URL, '-c', change])
}

/** Somebody with an account who was invited and accepted. Nobody is signed in at their page. */
export async function join(browser, place, name, how) {
  const { page, person } = await newcomer(browser, name, how, { stay: true })
  await place.manage('POST', '/invitations', { email: person.address, role: 'member' })
  const { items } = await asPerson(page, 'GET', '/v1/account/invitations')
  await asPerson(page, 'POST', '/v1/account/invitations/accept', { id: items[0].id })
  await page.context().clearCookies()
  return { page, person }
}
