// node-oidc-provider as a service: a process for each core, behind a proxy that ends TLS.
// Signing in is one request here (`POST /interaction/…/login` with whom it is): it stands in for the login pages every
// deployment writes itself, and is not measured.

import cluster from 'node:cluster'
import { availableParallelism } from 'node:os'
import Provider from 'oidc-provider'
import { SCHEMA, adapter, pool } from './adapter.mjs'

const settings = JSON.parse(process.env.PEERS_SETTINGS)

if (cluster.isPrimary) {
  const connections = pool(settings.database)
  await connections.query(SCHEMA)
  await connections.end()
  for (let count = 0; count < availableParallelism(); count += 1) cluster.fork()
  process.on('SIGTERM', () => process.exit(0))
} else {
  await serve()
}

async function serve() {
  const { client, api, scope, algorithm } = settings
  const provider = new Provider(settings.issuer, {
    adapter: adapter(pool(settings.database)),
    clients: [{
      client_id: client.id, client_secret: client.secret, redirect_uris: client.redirect_uris, response_types: ['code'],
      grant_types: ['authorization_code', 'refresh_token', 'client_credentials'], token_endpoint_auth_method: 'client_secret_basic',
    }],
    jwks: { keys: settings.keys },
    cookies: { keys: settings.cookie_keys },
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => api,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope, audience: api, accessTokenTTL: 300, accessTokenFormat: 'jwt', jwt: { sign: { alg: algorithm } } }),
      },
    },
    // By default only requests with `openid offline_access` get one, and one is replaced when most of its life is over;
    // the other products give and replace it each time.
    issueRefreshToken: (ctx, forClient) => forClient.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: () => true,
    ttl: { RefreshToken: 14 * 86_400, Grant: 14 * 86_400, Session: 14 * 86_400, Interaction: 3_600 },
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}/login` },
  })
  provider.proxy = true
  provider.use(async (ctx, next) => {
    if (ctx.path === '/ready') {
      ctx.body = 'ready'
    } else if (/^\/interaction\/[^/]+\/login$/.test(ctx.path) && ctx.method === 'POST') {
      const { params, session } = await provider.interactionDetails(ctx.req, ctx.res)
      const accountId = session?.accountId ?? ctx.get('x-person')
      const grant = new provider.Grant({ accountId, clientId: params.client_id })
      grant.addResourceScope(api, scope)
      await provider.interactionFinished(ctx.req, ctx.res, { login: { accountId }, consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: false })
      ctx.respond = false
    } else {
      await next()
    }
  })
  provider.listen(settings.port, '127.0.0.1')
}
