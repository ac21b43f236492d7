import type { TextsOf } from '../../../http/openapi/texts.js'
import type { faultRoutes } from './routes.js'

const fields = {
  id: 'Its id. Default: `fault_1` and so on.',
  match: 'What it happens to.',
  at: '`before` the handler or the call; `after_commit`, when it has changed what it changes; or `mid_body`, while the answer leaves.',
  do: 'What happens.',
  times: 'How often it happens. Default: always.',
  every: 'Only every nth match: 3 matches the third, the sixth and so on.',
  probability: 'How likely it is, from 0 to 1. Default: 1.',
  seed: 'Draws the probability in the same way each time. Default: the number of the fault.',
  until: "When it ends, by the service's clock: Unix seconds or ISO 8601.",
}

export const faultTexts: TextsOf<typeof faultRoutes> = {
  operations: {
    listFaults: 'It changes nothing.',
    armFault: 'Faults never happen to the controls. A retry arms another one, or gets `already_exists` for its id.',
    clearFaults: 'A retry changes nothing more.',
    disarmFault: 'A retry gets `not_found`.',
  },
  fields: { faults: 'The faults, in the order in which they were armed.' },
  components: {
    Fault: { is: 'A failure of requests, or of calls of a port, that a test makes on purpose.', ...fields },
    ArmedFault: { is: 'A fault that is armed.', ...fields, fired: 'How often it has happened.' },
    FaultMatch: {
      is: 'What a fault happens to. Empty: every request.',
      operation_id: 'Only requests of this operation.',
      method: 'Only requests with this method, or calls with it if `port` is `upstream` or `webhook`.',
      path: 'Only requests with this path below the base URL, or calls of it. `*` stands for any characters.',
      principal: 'Only requests of this caller: `account:1`, `user:2`.',
      port: 'Calls of this port, instead of requests.',
    },
    FaultAction: {
      is: 'What a fault does: exactly one of these fields, and `body` with `status`.',
      status: 'Answers with this status.',
      body: 'The body for `status`: JSON, or a text.',
      delay_ms: 'Waits for this many milliseconds.',
      drop: 'Closes the connection without an answer. In the middle of a body: after half of it.',
      duplicate: 'Does the same once more, and answers with the second answer.',
      truncate: 'Sends this many bytes of the body, then closes the connection.',
      drip: 'Sends this many bytes of the body a second.',
      error: 'The code with which a call of a port fails, such as `ENOSPC` for the storage.',
    },
  },
}
