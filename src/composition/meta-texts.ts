import type { FeatureTexts } from '../http/openapi/texts.js'

const ACCEPT = 'It answers with a page, or with JSON or Markdown if `Accept` asks for it.'

/** Of the document, of the error codes, and of the probes. */
export const metaTexts: FeatureTexts = {
  operations: {
    readOpenapi:
      'Anybody may call this. In a service that accepts only stronger evidence, weaker operations and fields are left out.',
    readLiveness:
      'Anybody may call this. It answers while the process runs, also before the start has ended, and touches no storage. The journal leaves it out.',
    readReadiness:
      'Anybody may call this. It answers 503 `not_ready` while the service starts, stores nothing, or has as many waiting requests as it lets wait. The journal leaves it out.',
    listErrorCodes: `Anybody may call this. ${ACCEPT}`,
    readErrorCode: `Anybody may call this. \`docs\` of every error leads here. Backticks in texts mark code. ${ACCEPT}`,
  },
  fields: {
    alive: 'Always true.',
    ready: 'Always true.',
    waiting: 'How many requests wait for their first transaction.',
    queue: 'How many may wait before the service turns requests away: the option `limits.queue`.',
    code: 'The error code.',
    error: 'The sentence of the code. An error may add a detail to it.',
    docs: 'The address of its page.',
    errors: 'Every error, by its status.',
  },
  components: {
    ListedError: { is: 'An error code in a list.' },
    ExplainedError: {
      is: 'What an error code means.',
      meaning: 'What happened, and what did not.',
      causes: 'The usual causes, the most likely first.',
      fixes: 'What to do.',
      fields: 'The fields that the error may have beside those of every error.',
      'fields.type': 'Its type.',
      operations: 'The operations of this service that may answer with it.',
      'operations.method': 'The HTTP method.',
      'operations.path': 'The path below the base URL.',
    },
  },
}
