import { docsTools } from './docs-tools.js'
import { journalTools } from './journal-tools.js'
import { peopleTools } from './people-tools.js'
import type { SandboxTool } from './sandbox-tool.js'
import { stateTools } from './state-tools.js'

/** Every tool for coding agents, in the order in which they are listed. */
export const sandboxTools: readonly SandboxTool[] = [...journalTools, ...stateTools, ...peopleTools, ...docsTools]
