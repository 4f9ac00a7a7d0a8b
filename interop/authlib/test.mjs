// A Flask application in a browser. interop/run runs it.

import { port, start, walk } from '../lib/app.mjs'
import { createClient } from '../lib/operator.mjs'

const app = `http://127.0.0.1:${port}`
walk('a Flask application', {
  app,
  how: 'passkey',
  expected: ['passkey', 'consent/allow'],
  open: async () => {
    const { client_id, client_secret } = await createClient('client.json', app)
    const env = { APP_URL: app, ISSUER: process.env.PORTEIRO_ISSUER, CLIENT_ID: client_id, CLIENT_SECRET: client_secret }
    return start('venv/bin/python', ['app.py'], env)
  },
})
