// An agent that knows the address of an MCP server and nothing else, and the walk of a person who lets it in.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { approving } from '../agent/approving.mjs'
import { port, start } from './app.mjs'
import { approve, issuer, launch, newcomer, signIn, withdraw } from './browser.mjs'
import { asking } from './ciba.mjs'
import { publish } from './document.mjs'
import { createClient, promoteClient, registerApi } from './operator.mjs'

/** `Agent` and `metadata` are of `client.mjs` of the folder; its `server.mjs` is the MCP server. */
export const walkMcp = (library, Agent, metadata) =>
  describe(library, () => {
    const app = `http://127.0.0.1:${port}`
    const server = `${app}/mcp`
    let running, browser, page, person, agent, asked

    before(async () => {
      const own = { client_name: 'Household', grant_types: ['client_credentials'], token_endpoint_auth_method: 'client_secret_basic' }
      const { client_id: CLIENT_ID, client_secret: CLIENT_SECRET } = await createClient(own)
      const api = JSON.parse(await readFile('api.json', 'utf8'))
      await registerApi({ ...api, introspected_by: [CLIENT_ID] }, app)
      running = await start(process.execPath, ['server.mjs'], { APP_URL: app, ISSUER: issuer, CLIENT_ID, CLIENT_SECRET })
      browser = await launch()
      ;({ page, person } = await newcomer(browser, 'Ana Souza', 'passkey'))
      agent = new Agent(server, open)
    })
    after(async () => {
      await browser?.close()
      await running?.stop()
    })
    const open = async (address) => {
      asked.push(new URL(address).searchParams)
      await page.goto(address)
      await signIn(page, person)
    }
    const step = (name, doing) =>
      test(name, { timeout: 60_000 }, async () => {
        asked = []
        try {
          await doing()
        } catch (error) {
          error.message += `\nat ${page?.url()}\n${await page?.innerText('body').catch(() => '')}\n${running?.said()}`
          throw error
        }
      })
    const token = ({ store } = agent) => JSON.parse(Buffer.from(store.tokens.access_token.split('.')[1], 'base64url'))
    const heard = (result) => {
      assert.notEqual(result.isError, true, JSON.stringify(result))
      return result.content[0].text
    }
    const post = (bearer, body = {}) => {
      const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
      return fetch(server, { method: 'POST', headers, body: JSON.stringify(body) })
    }

    step('from a 401 to a tool call: discovery, registration, the hosted screens, a token for this server', async () => {
      const { sub, notes } = JSON.parse(heard(await agent.call('list_notes')))
      assert.deepEqual(notes, [])
      assert.equal(asked.length, 1)
      assert.equal(asked[0].get('resource'), server)
      assert.match(asked[0].get('scope'), /\bnotes:read\b/)

      const claims = token()
      assert.deepEqual([claims.iss, claims.aud, claims.sub], [issuer, server, sub])
      assert.equal(claims.client_id, agent.store.client.client_id)
      assert.ok(!claims.scope.includes('notes:write'), claims.scope)
    })

    step('the server lets in a token for itself, and no other of the same issuer', async () => {
      const challenge = (await post('nonsense')).headers.get('www-authenticate')
      assert.match(challenge, /resource_metadata="/)
      const { access_token, refresh_token } = agent.store.tokens
      for (const other of [refresh_token, `${access_token.slice(0, -6)}AAAAAA`]) assert.equal((await post(other)).status, 401)

      // The same client, scope for scope: only whom the token is for differs.
      const other = `${app}/other`
      const scopes = ['notes:read', 'elsewhere:read'].map((name) => ({ name, description: { en: name, pt: name } }))
      await registerApi({ identifier: other, name: 'Elsewhere', scopes }, app)
      const robot = await createClient({
        client_name: 'Robot',
        grant_types: ['client_credentials'],
        token_endpoint_auth_method: 'client_secret_post',
      })
      const tokenFor = async (resource) => {
        const { client_id, client_secret } = robot
        const form = { grant_type: 'client_credentials', client_id, client_secret, resource, scope: 'notes:read' }
        const answer = await (await fetch(`${issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })).json()
        assert.ok(answer.access_token, JSON.stringify(answer))
        return answer.access_token
      }
      assert.equal((await post(await tokenFor(other))).status, 401)
      assert.notEqual((await post(await tokenFor(server))).status, 401)
    })

    step('a token that ran out is refreshed, and nobody is asked', async () => {
      const before = agent.store.tokens
      agent.store.tokens = { ...before, access_token: 'ran-out' }
      heard(await agent.call('list_notes'))
      assert.deepEqual(asked, [])
      assert.notEqual(agent.store.tokens.refresh_token, before.refresh_token)
      assert.equal(token().aud, server)
    })

    step('a tool that needs more asks the person for more (403 insufficient_scope)', async () => {
      const { client_id } = agent.store.client
      assert.equal(heard(await agent.call('add_note', { text: 'buy bread' }, 'notes:read notes:write')), 'added')
      assert.equal(asked.length, 1)
      assert.match(asked[0].get('scope'), /\bnotes:write\b/)
      assert.match(token().scope, /\bnotes:write\b/)
      assert.equal(agent.store.client.client_id, client_id, 'the registration it had')
      assert.deepEqual(JSON.parse(heard(await agent.call('list_notes'))).notes, ['buy bread'])
      assert.equal(asked.length, 1)
    })

    step('a person takes it back at their account, and the agent must ask again', async () => {
      await withdraw(page)
      agent.store.tokens.access_token = 'ran-out'
      heard(await agent.call('list_notes'))
      assert.equal(asked.length, 1)
    })

    step('an agent that is known by its document registers nowhere: its id is the address of the document', async () => {
      const site = await publish(metadata)
      try {
        await page.context().clearCookies()
        const known = new Agent(server, open, site.url)
        heard(await known.call('list_notes'))
        assert.deepEqual([asked.length, asked[0].get('client_id'), site.heard()], [1, site.url, 1])
        assert.equal(token(known).client_id, site.url)
        known.store.tokens.access_token = 'ran-out'
        heard(await known.call('list_notes'))
        assert.deepEqual([asked.length, site.heard()], [1, 1], 'refreshed, and the document is still valid')
      } finally {
        site.stop()
      }
    })

    step('a tool that needs an approval: the person approves exactly this call, and the token is good once', async () => {
      // It registers itself as an agent. What its person consents to is their delegation; then the operator looks at it.
      const payer = new Agent(server, open)
      payer.metadata = { ...metadata, kind: 'agent', token_endpoint_auth_method: 'client_secret_basic' }
      heard(await payer.call('list_notes'))
      const { client_id } = payer.store.client
      const grant_types = [...metadata.grant_types, 'urn:openid:params:grant-type:ciba']
      // The SDK registered the scopes that it needed at the time. For a client that was checked, these would be all it may have.
      await promoteClient(client_id, { grant_types, authorization_details_types: ['payment'], scope: null })

      const tokens = []
      const known = () => ({ ...payer.store.client, access_token: payer.store.tokens.access_token })
      const ask = asking(issuer, server, known, (number) => approve(page, number, 'Pay 42.00 to Bea for invoice 7'))
      payer.fetch = approving(async (details) => {
        tokens.push(await ask(details))
        return tokens.at(-1)
      })
      const payment = { invoice: '7', amount: '42.00', to: 'Bea' }
      assert.equal(heard(await payer.call('pay_invoice', payment)), 'paid 7')
      assert.equal(tokens.length, 1)
      const claims = token({ store: { tokens: { access_token: tokens[0] } } })
      assert.deepEqual([claims.aud, claims.act.sub], [server, client_id])
      assert.deepEqual(claims.authorization_details, [{ type: 'payment', ...payment }])

      const again = async (parameters) => {
        const params = { name: 'pay_invoice', arguments: parameters }
        const answer = await post(tokens[0], { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
        return [answer.status, /error="(\w+)"/.exec(answer.headers.get('www-authenticate'))?.[1]]
      }
      assert.deepEqual(await again(payment), [401, 'invalid_token'])
      assert.deepEqual(await again({ ...payment, amount: '43.00' }), [401, 'insufficient_authorization'])
      assert.equal(asked.length, 1, 'consent, and no other screen of the authorization endpoint')
    })
  })
