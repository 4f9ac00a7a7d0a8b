// An agent, an MCP server and a person, by the SDK's second version. interop/run runs it.

import { walkMcp } from '../lib/mcp.mjs'
import { Agent, metadata } from './client.mjs'

walkMcp('MCP, SDK v2', Agent, metadata)
