// A client's own web site, over TLS: it publishes the document whose address is the client's id.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'

const { PORTEIRO_DOCUMENT_PORT, PORTEIRO_TLS } = process.env

/** `heard()` is how often the document was asked for. Each has an address of its own: the server keeps what it fetched. */
export async function publish(metadata) {
  const url = `https://localhost:${PORTEIRO_DOCUMENT_PORT}/${randomUUID()}/client.json`
  const [key, cert] = await Promise.all(['tls.key', 'tls.pem'].map((file) => readFile(`${PORTEIRO_TLS}/${file}`)))
  let heard = 0
  const server = createServer({ key, cert }, (request, response) => {
    if (request.url !== new URL(url).pathname) return response.writeHead(404).end()
    heard += 1
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=3600', connection: 'close' })
    response.end(JSON.stringify({ client_id: url, ...metadata }))
  })
  await once(server.listen(Number(PORTEIRO_DOCUMENT_PORT), '127.0.0.1'), 'listening')
  return { url, heard: () => heard, stop: () => server.close() }
}
