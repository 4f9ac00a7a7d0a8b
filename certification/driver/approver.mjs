// Decides for the person, when the suite asks for it (`automated_ciba_approval_url`): what they would do on the approvals
// page, through the same interface (`/v1/account/approvals`), in their session.
//
// The person picks the number that the client shows them. The suite's client shows nothing, so the number is read from the
// database, which nobody but a test can do.

import http from 'node:http'

/** The scopes are delegated to each client: nobody else may ask this person. */
export const delegate = async (browser, clients, scope) => {
  for (const { client_id } of Object.values(clients)) {
    await browser.call('POST', '/v1/account/delegations', { client_id, scope })
  }
}

/** Listens for `POST /?type=allow` and `?type=deny`, which decide what was asked last. */
export const start = (porteiro, browser) => {
  const server = http.createServer(async (request, response) => {
    const type = new URL(request.url, porteiro.approvals).searchParams.get('type')
    const answer = await decide(porteiro, browser, type).catch((error) => ({ error: error.message }))
    response.writeHead(answer.error ? 500 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  return new Promise((resolve) => server.listen(new URL(porteiro.approvals).port, '127.0.0.1', () => resolve(server)))
}

const decide = async (porteiro, browser, type) => {
  const [latest] = (await browser.call('GET', '/v1/account/approvals?state=pending')).items
  if (!latest) throw new Error('nothing waits for a decision')
  const path = `/v1/account/approvals/${latest.id}`
  const { state } = type === 'allow'
    ? await browser.call('POST', `${path}/approve`, { number: await numberOf(porteiro, latest.id) })
    : await browser.call('POST', `${path}/deny`, {})
  return { id: latest.id, state }
}

const numberOf = async (porteiro, id) => {
  const { stdout } = await porteiro.sql(`SELECT number FROM approval WHERE approval_id = '${id}'`)
  return Number(stdout)
}
