// An agent that asks its person to approve one payment, by OpenID CIBA, with npm's openid-client. Copy what you need.
//
// `sub` is the person's, from an ID token or a delegation. The answer has `approval_number`: show it to them.

import * as client from 'openid-client'

export const ledger = 'https://ledger.example.org/'

/** Asks. `more` is for what is not usual, such as `client_notification_token` in ping mode. */
export const ask = (agent, sub, payment, more = {}) =>
  client.initiateBackchannelAuthentication(agent, {
    scope: 'openid',
    resource: ledger,
    login_hint: sub,
    authorization_details: JSON.stringify([{ type: 'payment', ...payment }]),
    ...more,
  })

/** Poll mode: waits until the person decided. The library keeps the interval, and slows down when it is told to. */
export const approved = (agent, asked) => client.pollBackchannelAuthenticationGrant(agent, asked)

/** Ping mode: what the notification endpoint does. `waiting` has what `ask` answered, by the token that it was sent with. */
export function pinged(waiting, request, body) {
  const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
  const asked = waiting.get(token)
  // CIBA Core §10.2: who does not know the token, or names another request, is not the server.
  if (!asked || JSON.parse(body).auth_req_id !== asked.auth_req_id) return undefined
  waiting.delete(token)
  return asked
}
