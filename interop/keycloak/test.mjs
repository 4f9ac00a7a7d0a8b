// Keycloak as the directory of an organization, in a real browser. interop/run runs it.

import { walkDirectory } from '../lib/directory.mjs'
import { keycloak } from './keycloak.mjs'

walkDirectory('Keycloak is the directory of an organization', keycloak)
