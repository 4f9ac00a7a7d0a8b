// A fetch that asks the person when an API needs their approval, and then sends the request once more.
//
// Such an API answers 401 with `error="insufficient_authorization"` and says in `authorization_remediation` which
// authorization details it needs (draft-ietf-oauth-rar-metadata-remediation). `ask(details)` gives an access token for
// exactly these, or throws.

export const approving = (ask, send = fetch) => async (address, options = {}) => {
  const response = await send(address, options)
  const details = needed(response)
  if (!details) return response
  const headers = new Headers(options.headers)
  headers.set('authorization', `Bearer ${await ask(details)}`)
  // Whatever comes now is the answer: who is asked twice for one thing learns to say yes.
  return send(address, { ...options, headers })
}

function needed(response) {
  const challenge = response.headers.get('www-authenticate') ?? ''
  if (response.status !== 401 || !challenge.includes('error="insufficient_authorization"')) return undefined
  const [, text] = /authorization_remediation="?([\w-]+)/.exec(challenge) ?? []
  return text && JSON.parse(Buffer.from(text, 'base64url')).authorization_details
}

/** The other side: what an API answers that needs an approval of these details. */
export const challenge = (...details) => {
  const remediation = Buffer.from(JSON.stringify({ authorization_details: details })).toString('base64url')
  return `Bearer error="insufficient_authorization", authorization_remediation="${remediation}"`
}

/**
 * Uses the token of an approval up, and says whether this call did: of any number of calls, on any number of machines, one
 * is told yes (docs/agents.md). `server` is the API's own client, which its registration names in `introspected_by`.
 */
export async function useUp(token, { issuer, client_id, client_secret }) {
  const basic = Buffer.from([client_id, client_secret].map(encodeURIComponent).join(':')).toString('base64')
  const body = new URLSearchParams({ token, consume: 'true' })
  const response = await fetch(`${issuer}/connect/introspect`, { method: 'POST', headers: { authorization: `Basic ${basic}` }, body })
  const { active, consumed } = await response.json()
  return active === true && consumed === true
}
