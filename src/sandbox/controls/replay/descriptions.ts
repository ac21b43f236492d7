import type { TextsOf } from '../../../http/openapi/texts.js'
import type { replayRoutes } from './routes.js'

export const replayTexts: TextsOf<typeof replayRoutes> = {
  operations: {
    replayRequest:
      'With `in: "place"`, everything happens once more, purchases too. An Idempotency-Key is replaced. A retry replays again.',
  },
  fields: {
    id: 'The id of the entry: the `X-Request-ID` of the answer.',
    in: 'Where: in a `fork`, which changes nothing here, or in `place`.',
    diff: 'Whether to compare the answers. Default: true.',
    strict: 'Whether to show every difference, of ids and times too. Default: false.',
  },
  components: {
    Replay: {
      is: 'A repeated request, and how it differs from the first.',
      entry: 'The entry of the repetition.',
      state: 'The state that it ran on: `now`, or the one `before` the first request.',
      diff: 'What differs in the answer. Absent without `diff`.',
      'diff.path': 'The part of the answer, such as `body.balance`.',
      'diff.was': 'The value in the first answer. Null: absent.',
      'diff.is': 'The value now. Null: absent.',
      ignored: 'Parts that differ in every repetition, such as ids and times. Absent without `diff`.',
      effects: 'What both requests caused.',
    },
    ComparedEffects: {
      is: 'What a request and its repetition caused.',
      same: 'Whether both caused the same.',
      counts: 'How often each caused effects of a kind.',
      'counts.kind': 'The kind of the effects.',
      'counts.was': 'How many the first request caused.',
      'counts.is': 'How many the repetition caused.',
      movements: 'The movements in the ledger.',
      'movements.was': 'Those of the first request. Null if the state no longer has them.',
      'movements.is': 'Those of the repetition.',
    },
    CausedMovement: {
      is: 'A movement that a request caused.',
      kind: 'Why value moved.',
      amount: 'The amount.',
      dq: 'The digital quantity.',
    },
  },
}
