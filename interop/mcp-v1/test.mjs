// An agent, an MCP server and a person, by the SDK's first version. interop/run runs it.

import { walkMcp } from '../lib/mcp.mjs'
import { Agent, metadata } from './client.mjs'

walkMcp('MCP, SDK v1', Agent, metadata)
