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
 * Whether a token comes for the first time: one approval is one action. An API on several machines asks Porteiro instead of
 * its memory (docs/agents.md).
 */
export const firstUse = ({ jti, exp }) => {
  for (const [old, end] of used) if (end * 1000 < Date.now()) used.delete(old)
  return !used.has(jti) && Boolean(used.set(jti, exp))
}
const used = new Map()
