// A page behind Debian's Apache in a browser. interop/run runs it.

import { randomBytes } from 'node:crypto'
import { port, start, walk } from '../lib/app.mjs'
import { createClient } from '../lib/operator.mjs'

const app = `https://localhost:${port}`
walk('a page behind Apache', {
  app,
  how: 'password',
  expected: ['password', 'consent/allow'],
  open: async () => {
    const { client_id, client_secret } = await createClient('client.json', app)
    const env = {
      APP_URL: app,
      ISSUER: process.env.PORTEIRO_ISSUER,
      CLIENT_ID: client_id,
      CLIENT_SECRET: client_secret,
      PASSPHRASE: randomBytes(24).toString('base64url'),
      FOLDER: process.cwd(),
      TLS: process.env.PORTEIRO_TLS,
      PORT: String(port),
    }
    return start('/usr/sbin/apache2', ['-f', `${process.cwd()}/apache.conf`, '-DFOREGROUND'], env)
  },
})
