// Express middleware for an API of which some calls need an approval. Both MCP examples use it.

import { isDeepStrictEqual } from 'node:util'
import { challenge, useUp } from './approving.mjs'

/**
 * `needed(request)` gives the authorization details that a call needs, if it needs an approval. The token must have been
 * approved for exactly these, and each such token is good once (docs/agents.md). The caller is told what to ask for
 * (draft-ietf-oauth-rar-metadata-remediation). `server` is as in `useUp`; `request.auth` is what the MCP SDKs leave there.
 */
export const approval = (needed, server) => async (request, response, next) => {
  const details = needed(request)
  if (!details) return next()
  const refuse = (challenge) => response.status(401).set('www-authenticate', challenge).end()
  const { token, extra } = request.auth
  if (!extra.details.some((one) => isDeepStrictEqual(one, details))) return refuse(challenge(details))
  if (!(await useUp(token, server))) return refuse('Bearer error="invalid_token", error_description="used before"')
  next()
}
