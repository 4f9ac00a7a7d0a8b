// Asks a person to approve exactly some authorization details, by OpenID CIBA in poll mode, with nothing but fetch.

import { setTimeout as sleep } from 'node:timers/promises'

/**
 * A function for `approving` (../agent/approving.mjs). `client()` gives what the client is known by and the token it
 * holds for the person; `show(number)` shows the number that the person has to pick.
 */
export const asking = (issuer, resource, client, show) => async (details) => {
  const { client_id, client_secret, access_token } = client()
  const basic = Buffer.from(`${encodeURIComponent(client_id)}:${encodeURIComponent(client_secret)}`).toString('base64')
  const send = async (path, form) => {
    const headers = { authorization: `Basic ${basic}` }
    return (await fetch(`${issuer}${path}`, { method: 'POST', headers, body: new URLSearchParams(form) })).json()
  }
  const { sub } = await send('/connect/introspect', { token: access_token })
  const wanted = { scope: 'openid', resource, login_hint: sub, authorization_details: JSON.stringify(details) }
  const asked = await send('/connect/ciba', wanted)
  if (!asked.auth_req_id) throw new Error(`${asked.error}: ${asked.error_description}`)
  await show(asked.approval_number)

  for (let interval = asked.interval; ; ) {
    await sleep(interval * 1000)
    const grant_type = 'urn:openid:params:grant-type:ciba'
    const answer = await send('/connect/token', { grant_type, auth_req_id: asked.auth_req_id })
    if (answer.access_token) return answer.access_token
    if (answer.error === 'slow_down') interval += 5
    else if (answer.error !== 'authorization_pending') throw new Error(answer.error)
  }
}
