// An application of the operator's that asks for a code in one organization, with nothing but fetch.

import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { port } from './app.mjs'
import { issuer } from './browser.mjs'
import { createClient } from './operator.mjs'

const app = `http://127.0.0.1:${port}`
const random = () => randomBytes(32).toString('base64url')

/** What a token says. It came straight from the token endpoint. */
export const claims = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url'))

/** `ask` makes a request, `answered` reads what came of it off the page that the browser was sent to. */
export async function application() {
  const { client_id, client_secret } = await createClient({
    client_name: 'Timesheets',
    redirect_uris: [`${app}/callback`],
    post_logout_redirect_uris: [`${app}/bye`],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'client_secret_post',
  })
  const server = createServer((request, response) => response.writeHead(200, { connection: 'close' }).end('Timesheets'))
  await once(server.listen(port, '127.0.0.1'), 'listening')

  const ask = (more) => {
    const code_verifier = random()
    const url = new URL(`${issuer}/connect/authorize`)
    url.search = new URLSearchParams({
      response_type: 'code',
      client_id,
      redirect_uri: `${app}/callback`,
      scope: 'openid profile',
      state: random(),
      code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...more,
    })
    return { url: url.href, code_verifier }
  }

  const answered = async (page) => {
    await page.waitForURL((url) => url.href.startsWith(`${app}/callback`))
    return new URL(page.url()).searchParams
  }

  const redeemed = async (page, { code_verifier }) => {
    const code = (await answered(page)).get('code')
    const form = { grant_type: 'authorization_code', redirect_uri: `${app}/callback`, client_id, client_secret, code_verifier, code }
    const response = await fetch(`${issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
    if (!response.ok) throw new Error(`${page.url()}: ${await response.text()}`)
    return response.json()
  }

  const signOut = async (page, id_token_hint) => {
    const parameters = new URLSearchParams({ id_token_hint, post_logout_redirect_uri: `${app}/bye` })
    await page.goto(`${issuer}/connect/logout?${parameters}`)
    await page.waitForURL(`${app}/bye`)
  }

  return { ask, answered, redeemed, signOut, stop: () => server.close() }
}
