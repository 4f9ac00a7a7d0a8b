// An agent asks, and its person decides: part of the walk. Whoever walks is signed in and has just proved who they are.

import { follow, issuer, open, press, sql } from './lib.mjs'

const [client_id, client_secret] = process.env.PORTEIRO_AGENT_CLIENT.split(' ')
const resource = 'https://ledger.example.test'

/** The person lets the agent read, so that it may ask for more. Gives back who they are. */
const delegated = async (page) => {
  const call = async (method, path, data) => {
    const answer = await page.request[method](new URL(path, issuer).href, { data, headers: { origin: issuer } })
    if (!answer.ok()) throw new Error(await answer.text())
    return answer.json()
  }
  await call('post', '/v1/account/delegations', { client_id, resource, scope: 'invoices:read' })
  return (await call('get', '/v1/account')).id
}

/** The agent asks for one action; gives back the number that it shows. */
const asked = async (login_hint, details, more = {}) => {
  const authorization_details = JSON.stringify([details])
  const wanted = { client_id, client_secret, scope: 'openid', resource, login_hint, authorization_details, ...more }
  const response = await fetch(new URL('/connect/ciba', issuer), { method: 'POST', body: new URLSearchParams(wanted) })
  const { approval_number, ...problem } = await response.json()
  if (!approval_number) throw new Error(JSON.stringify(problem))
  return approval_number
}

export const approvals = async ({ page }, look) => {
  await open(page, '/ui/account/approvals')
  await look('approvals-none', page)
  const person = await delegated(page)
  await open(page, '/ui/account/apps')
  await look('delegations', page)

  const number = await asked(person, { type: 'payment', amount: '42.00', to: 'Padaria Bela Vista' }, { binding_message: 'Invoice 7' })
  await open(page, '/ui/account/approvals')
  await look('approval', page)
  await follow(page, '.lines a')
  await look('approval-one', page)
  await press(page, `approve-${number}`)
  await look('approval-approved', page)

  const other = await asked(person, { type: 'payment', amount: '8.50', to: 'Padaria Bela Vista' })
  await open(page, '/ui/account/approvals')
  const wrong = page.locator(`button[value^="approve-"]:not([value="approve-${other}"])`).first()
  await press(page, await wrong.getAttribute('value'))
  await look('approval-wrong-number', page)

  // Nobody looked in time.
  await asked(person, { type: 'payment', amount: '7.00', to: 'Padaria Bela Vista' })
  await sql(`UPDATE approval SET expires_at = now() WHERE account_id = '${person}' AND state = 'pending'`)
  await open(page, '/ui/account/approvals')
  await follow(page, '.lines a')
  await look('approval-expired', page)

  await asked(person, { type: 'payment', amount: '9.00', to: 'Somebody else' })
  await asked(person, { type: 'transfer', amount: '1250.00', to: 'Somebody else' })
  await open(page, '/ui/account/approvals')
  await look('approvals', page)
  await press(page, 'report')
  await look('approval-reported', page)

  await open(page, '/ui/account/apps')
  await page.click('details.menu summary')
  await press(page, 'revoke')
}
