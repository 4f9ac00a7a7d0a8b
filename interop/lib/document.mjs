// The document whose address is a client's id, published at the client's own web site.

import { randomUUID } from 'node:crypto'
import { origin, serve } from './site.mjs'

/** `heard()` is how often the document was asked for. Each has an address of its own: the server keeps what it fetched. */
export async function publish(metadata) {
  const url = `${origin}/${randomUUID()}/client.json`
  let heard = 0
  const { stop } = await serve((request, response) => {
    if (request.url !== new URL(url).pathname) return response.writeHead(404).end()
    heard += 1
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=3600', connection: 'close' })
    response.end(JSON.stringify({ client_id: url, ...metadata }))
  })
  return { url, heard: () => heard, stop }
}
