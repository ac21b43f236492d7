import type { TextsOf } from '../../../http/openapi/texts.js'
import type { rehearsalRoutes } from './routes.js'

export const rehearsalTexts: TextsOf<typeof rehearsalRoutes> = {
  operations: {
    keepRehearsal:
      'The process keeps the last 10, until it ends. They are no part of the state. A retry replaces the report by the same one.',
    listRehearsals: 'It changes nothing.',
    readRehearsal: 'It changes nothing.',
  },
  fields: {
    id: 'The id of the rehearsal, which its sender chooses: letters, digits, `_` and `-`.',
    rehearsals: 'The rehearsals.',
    at: "When it was first kept, by the service's clock, in ISO 8601.",
    command: 'The command that was run.',
    running: 'Whether its runs go on.',
    runs: 'How many runs there were.',
    findings: 'How many findings there are.',
  },
  components: {
    RehearsalReport: {
      is: 'The report of `farthing rehearse --json`, which may still grow.',
      ok: 'Whether there is no finding.',
      plans: 'How many plans of faults there are.',
      random_seed: 'What repeats it.',
      findings: 'What the client does wrong, each with the fewest faults that show it.',
      'findings.verdict': 'What went wrong, such as `paid_twice`.',
      'findings.habit': 'What the client does that causes it, such as `sends_no_key`.',
      'findings.operation': 'The operation whose calls show it.',
      'findings.sureness': 'How sure it is that they are about one thing: `certain`, `likely` or `possible`.',
      'findings.calls': 'How many calls there were.',
      'findings.payments': 'How many of them paid.',
      'findings.delivered': 'How often what they paid for was delivered.',
      'findings.plan.kind': 'What happens, such as `lost_after`.',
      'findings.plan.operation': 'The operation that it happens to.',
      'findings.plan.nth': 'At which call of the operation, counted from 1.',
      'findings.title': 'The verdict in words.',
      'findings.sentence': 'What happens, and what the client does then.',
      'findings.diagram': 'The calls, a line for each.',
      'findings.repeat': 'The options of `farthing rehearse` that repeat it.',
      cells: 'Each call with each fault that it can meet.',
      'cells.kind': 'The fault.',
      'cells.operation': 'The operation that it happens to.',
      'cells.nth': 'At which call of the operation, counted from 1.',
      'cells.diagram': 'The calls of its run, a line for each. Empty while it waits.',
      'cells.stories': 'What the client did wrong in its run.',
      'cells.stories.verdict': 'What went wrong.',
      'cells.stories.habit': 'What the client does that causes it.',
      'cells.stories.operation': 'The operation whose calls show it.',
      'cells.stories.title': 'The verdict in words.',
      'cells.stories.sentence': 'What happens, and what the client does then.',
    },
  },
}
