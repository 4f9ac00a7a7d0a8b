// A program that uses an MCP server it knows nothing of but the address. The SDK finds Porteiro by the server's 401,
// registers, and sends the person there. What is kept between runs is `store`.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { auth, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

/** What it says of itself: when it registers, or in the document that its id is the address of. */
export const metadata = {
  client_name: 'Example agent',
  redirect_uris: ['http://127.0.0.1/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

export class Agent {
  store = {}
  metadata = metadata
  /** What it sends requests with: `approving` (../agent/approving.mjs) asks the person where a tool needs their approval. */
  fetch = fetch
  #listener = createServer()

  /** `open(address)` shows the person a page; `document` is the address of the document with `metadata`, if there is one. */
  constructor(server, open, document = undefined) {
    Object.assign(this, { server: new URL(server), open, document })
  }

  /** Calls a tool; where the person must agree first, asks them and calls again. */
  async call(name, parameters = {}, scope = undefined) {
    await once(this.#listener.listen(0, '127.0.0.1'), 'listening')
    try {
      return await this.#attempt(name, parameters, async (transport, error) => {
        // This SDK answers a 403 by refreshing, which gives no more than there was: ask for more by hand.
        if (error instanceof StreamableHTTPError && error.code === 403 && scope) {
          delete this.store.tokens
          await auth(this.#provider(), { serverUrl: this.server, scope })
        } else if (!(error instanceof UnauthorizedError)) throw error
        await transport.finishAuth(this.#code)
        return this.#attempt(name, parameters)
      })
    } finally {
      this.#listener.close()
      this.#listener.closeAllConnections()
    }
  }

  async #attempt(name, parameters, otherwise = undefined) {
    const transport = new StreamableHTTPClientTransport(this.server, { authProvider: this.#provider(), fetch: this.fetch })
    const client = new Client({ name: 'example', version: '1.0.0' })
    try {
      await client.connect(transport)
      // A person who is asked may take five minutes.
      return await client.callTool({ name, arguments: parameters }, undefined, { timeout: 300_000 })
    } catch (error) {
      if (!otherwise) throw error
      return await otherwise(transport, error)
    } finally {
      await client.close()
    }
  }

  #code

  /** Sends the person away, and waits until they are back. */
  async #ask(address) {
    const returned = once(this.#listener, 'request').then(([request, response]) => {
      response.setHeader('connection', 'close').end('You may close this page.')
      return new URL(request.url, 'http://127.0.0.1').searchParams
    })
    const [answer] = await Promise.all([returned, this.open(address.href)])
    if (answer.get('state') !== this.store.state) throw new Error('this is not the answer to our question')
    if (!answer.has('code')) throw new Error(answer.get('error'))
    this.#code = answer.get('code')
  }

  #provider() {
    const { store } = this
    return {
      // RFC 8252 §7.3: which port it is turns out when we listen; it is registered without one.
      redirectUrl: `http://127.0.0.1:${this.#listener.address().port}/callback`,
      clientMetadata: this.metadata,
      // Where there is a document, the SDK does not register.
      clientMetadataUrl: this.document,
      state: () => (store.state = crypto.randomUUID()),
      redirectToAuthorization: (address) => this.#ask(address),
      clientInformation: () => store.client,
      saveClientInformation: (client) => void (store.client = client),
      tokens: () => store.tokens,
      saveTokens: (tokens) => void (store.tokens = tokens),
      codeVerifier: () => store.verifier,
      saveCodeVerifier: (verifier) => void (store.verifier = verifier),
      invalidateCredentials: (what) => {
        if (what === 'all' || what === 'client') delete store.client
        if (what === 'all' || what === 'tokens') delete store.tokens
      },
    }
  }
}
