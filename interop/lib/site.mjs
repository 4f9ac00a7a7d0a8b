// A client's own web site, over TLS, at the one port of this machine that the server may reach.

import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'

const { PORTEIRO_DOCUMENT_PORT, PORTEIRO_TLS } = process.env

export const origin = `https://localhost:${PORTEIRO_DOCUMENT_PORT}`

export async function serve(answer) {
  const [key, cert] = await Promise.all(['tls.key', 'tls.pem'].map((file) => readFile(`${PORTEIRO_TLS}/${file}`)))
  const server = createServer({ key, cert }, answer)
  await once(server.listen(Number(PORTEIRO_DOCUMENT_PORT), '127.0.0.1'), 'listening')
  return { stop: () => server.close() }
}
