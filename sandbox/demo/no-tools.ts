import { problem } from '../../src/base/problem.js'
import type * as tools from '../../src/sandbox/tools/tool-server.js'

/** Replaces the tools for coding agents, which would make the worker larger. They need a sandbox on the agent's machine. */
export const answerToolMessage: typeof tools.answerToolMessage = async () => {
  throw problem('not_found', {
    detail: 'The offline demo has no tools for coding agents. Start a sandbox: npx farthing',
  })
}
