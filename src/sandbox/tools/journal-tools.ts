import type { ServiceContext } from '../../http/context.js'
import { z } from '../../http/fields/schema.js'
import { ReplayShape, RequestQueryShape, replayControls, requestControls } from '../controls/sandbox.js'
import { isOfForeignPage } from '../journal/foreign-page.js'
import type { Entry } from '../onion/entry.js'
import {
  briefEntry,
  lineOfEntry,
  linesOfBodies,
  linesOfExplanation,
  linesOfReplay,
  orNone,
  type SandboxTool,
  sandboxTool,
  wholeEntry,
} from './sandbox-tool.js'

/** How many entries one look at the journal takes, and how many are looked at for a refusal. */
const PAGE = 200
const MOST_SEEN = 2000
/** Calls of the tools themselves would hide what the agent looks for. */
const isOwnCall = ({ path }: Entry): boolean => path.startsWith('/_sandbox/mcp')

/** The newest entries that match and that no tool made, newest first. */
async function* newestEntries(
  service: ServiceContext,
  query: Omit<z.output<typeof RequestQueryShape>, 'limit'> = {},
): AsyncGenerator<Entry> {
  let after = query.after
  for (let seen = 0; seen < MOST_SEEN; seen += PAGE) {
    const page = await requestControls(service).list({ ...query, limit: PAGE, ...(after !== undefined && { after }) })
    for (const entry of page.requests) if (!isOwnCall(entry)) yield entry
    if (page.next === null) return
    after = page.next
  }
}

const lastError = sandboxTool({
  name: 'last_error',
  title: 'Show the last refused call',
  description:
    'Shows the last call that the service refused or failed: what was sent and answered, why, and the call that fixes it. Start here when something does not work. Calls that pages of other sites made a browser send are left out.',
  input: z.strictObject({ operation_id: z.optional(z.string()), principal: z.optional(z.string()) }),
  hints: { reads: true },
  async call(query, service) {
    for await (const entry of newestEntries(service, query)) {
      if (entry.status === null || entry.status < 400 || isOfForeignPage(entry)) continue
      const { entry: _, ...explained } = await requestControls(service).explain(entry.id)
      const lines = [lineOfEntry(entry), ...linesOfBodies(entry), ...linesOfExplanation(explained)]
      return { lines, structured: { ...explained, entry: wholeEntry(entry) } }
    }
    return { lines: ['None of the last calls that match was refused.'], structured: { entry: null } }
  },
})

const searchRequests = sandboxTool({
  name: 'search_requests',
  title: 'Search the journal',
  description:
    'Lists calls, timers and deliveries, newest first, each with its id, its status and what it caused. Filters combine. q is a text in the path, a body, the code or the id. principal is such as user:2 or account:1.',
  input: z.strictObject({
    ...RequestQueryShape.shape,
    limit: z.optional(z.int().check(z.minimum(1), z.maximum(20))),
  }),
  hints: { reads: true },
  async call({ limit = 10, ...query }, service) {
    const found: Entry[] = []
    for await (const entry of newestEntries(service, query)) {
      found.push(entry)
      if (found.length > limit) break
    }
    const shown = found.slice(0, limit)
    const next = found.length > limit ? (shown.at(-1)?.id ?? null) : null
    const lines = orNone(shown.map(lineOfEntry), 'The journal has no entry that matches.')
    const more = next === null ? [] : [`There are more: call again with after "${next}".`]
    return { lines: [...lines, ...more], structured: { requests: shown.map(briefEntry), next } }
  },
})

const explain = sandboxTool({
  name: 'explain',
  title: 'Explain an answer',
  description:
    'Says why the service answered a call as it did: the rule, what the balance, limit, approval or fault was at that moment, and the call that fixes a refusal. id is an X-Request-ID, or from last_error or search_requests.',
  input: z.strictObject({ id: z.string() }),
  hints: { reads: true },
  async call({ id }, service) {
    const { entry, ...explained } = await requestControls(service).explain(id)
    const structured = { ...explained, entry: briefEntry(entry) }
    return { lines: [explained.verdict, ...linesOfExplanation(explained)], structured }
  },
})

const replayDiff = sandboxTool({
  name: 'replay_diff',
  title: 'Send a call again and compare',
  description:
    'Sends the call of an entry again, with fresh credentials of the same caller, and shows what differs in answer and effects. It runs in a fork of the state before the call, so nothing changes here. in "place" does it once more in this sandbox.',
  input: z.strictObject({
    id: z.string(),
    in: z.optional(ReplayShape.shape.in),
    strict: ReplayShape.shape.strict,
  }),
  async call({ id, in: place = 'fork', strict }, service) {
    const replay = await replayControls(service).replay(id, { in: place, diff: true, strict })
    const { entry, state, diff = [], effects } = replay
    return { lines: linesOfReplay(replay), structured: { state, diff, effects, entry: briefEntry(entry) } }
  },
})

export const journalTools: readonly SandboxTool[] = [lastError, searchRequests, explain, replayDiff]
