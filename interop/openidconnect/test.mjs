// A web application in Rust, in a browser. interop/run builds it and runs this.

import { port, start, walk } from '../lib/app.mjs'
import { createClient } from '../lib/operator.mjs'

const app = `http://127.0.0.1:${port}`
walk('a web application in Rust', {
  app,
  how: 'code',
  expected: ['code', 'consent/allow'],
  open: async () => {
    const { client_id, client_secret } = await createClient('client.json', app)
    const env = { APP_URL: app, ISSUER: process.env.PORTEIRO_ISSUER, CLIENT_ID: client_id, CLIENT_SECRET: client_secret }
    return start(`${process.env.PORTEIRO_CLIENTS}/porteiro-interop-openidconnect`, [], env)
  },
})
