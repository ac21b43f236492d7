import type { TextsOf } from '../../http/openapi/texts.js'
import type { toolRoutes } from './routes.js'

export const toolTexts: TextsOf<typeof toolRoutes> = {
  operations: {
    callSandboxMcp:
      'The server keeps no state between calls. `Accept` chooses JSON or an event stream. Each tool does what a control does.',
  },
  fields: {},
}
