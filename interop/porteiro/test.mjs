// Another Porteiro as the directory of an organization, in a real browser. interop/run runs it.

import { walkDirectory } from '../lib/directory.mjs'
import { upstream } from './upstream.mjs'

// It says addresses only at its userinfo endpoint.
walkDirectory('another Porteiro is the directory of an organization', upstream)
