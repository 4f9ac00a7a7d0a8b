// A public client that registered itself, in a browser. interop/run runs it.

import { port, start, walk } from '../lib/app.mjs'

const app = `http://127.0.0.1:${port}`
walk('a web application that registered itself', {
  app,
  how: 'code',
  expected: ['code', 'consent/allow'],
  open: () => start(process.execPath, ['app.mjs'], { APP_URL: app, ISSUER: process.env.PORTEIRO_ISSUER }),
})
