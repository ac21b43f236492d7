import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { StateForgotten } from '../../storage/history/history.js'
import { showEntry } from '../journal/kept-entry.js'
import { answerPlace } from '../journal/marked-names.js'
import { entryOf } from '../journal/requests.js'
import { type PastMoment, sandboxOf } from '../onion/context.js'
import type { Entry } from '../onion/entry.js'
import { draftOf, filledTemplate, notReplayable } from './call-draft.js'
import { freshSecrets } from './credentials.js'
import { type ComparedEffects, compareAnswers, compareEffects, type Difference, movementsOf } from './difference.js'

export interface ReplayOrder {
  /**
   * `fork`: in a fork, which is dropped afterwards. Its state and time are those before the first request, if the sandbox
   * still remembers them. `place`: in this sandbox, so that it does everything once more.
   */
  readonly in: 'fork' | 'place'
  /** Whether to compare the answers. Default: true. */
  readonly diff?: boolean | undefined
  /** Whether the comparison ignores nothing. Default: false. */
  readonly strict?: boolean | undefined
}

/** What came of a repetition. */
export interface Replay {
  /** The entry of the repetition. */
  readonly entry: Entry
  /** The state that it ran on: `now`, or the state `before` the first request. */
  readonly state: 'now' | 'before'
  /** What differs in the answer. Absent without `diff`. */
  readonly diff?: Difference[]
  /** The paths of what differs in every repetition, and was not compared. Absent without `diff`. */
  readonly ignored?: string[]
  readonly effects: ComparedEffects
}

export async function replayEntry(
  id: string,
  { in: place, diff = true, strict = false }: ReplayOrder,
  service: ServiceContext,
): Promise<Replay> {
  const was = await entryOf(service, id)
  const draft = draftOf(was)
  if (diff && was.response.cut) throw notReplayable('response.body', 'The journal cut it. Replay without `diff`.')
  const moved = await service.storage.read((tx) => movementsOf(tx, was))
  const past = was.before === undefined ? undefined : { commit: was.before, at: Date.parse(was.at) }
  const stage = place === 'place' ? stageInPlace(service) : await stageInFork(service, past)
  try {
    const entry = await repeat(draft, stage)
    const compared = diff && compareAnswers(was, entry, { strict, place: answerPlace(was.route, was.status) })
    const now = (await stage.service.storage.read((tx) => movementsOf(tx, entry))) ?? []
    const effects = compareEffects({ caused: was.caused, movements: moved }, { caused: entry.caused, movements: now })
    return { entry, state: stage.state, ...compared, effects }
  } finally {
    await stage.close()
  }
}

async function repeat(draft: ReturnType<typeof draftOf>, stage: ReplayStage): Promise<Entry> {
  const { service } = stage
  const { headers, plainText } = await freshSecrets(draft, stage)
  const isKeyed = 'idempotency-key' in draft.entry.request.headers
  const answer = await stage.send({
    method: draft.method,
    path: filledTemplate(draft.path, plainText),
    headers: {
      ...draft.headers,
      ...headers,
      // With the first key, the answer would only be the stored one.
      ...(isKeyed && { 'idempotency-key': `replay-${randomHex(service.random, 16)}` }),
    },
    body: draft.body && filledTemplate(draft.body, plainText),
    causedBy: draft.entry.id,
  })
  // A stream would go on.
  await answer.body?.cancel()
  return showEntry(await entryOf(service, answer.headers.get('x-request-id') ?? ''))
}

export interface Resent {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  readonly causedBy?: string
}

export interface ReplayStage {
  readonly service: ServiceContext
  readonly isFork: boolean
  /** Its state: that of now, or that before the first request. */
  readonly state: 'now' | 'before'
  send(request: Resent): Promise<Response>
  close(): Promise<void>
}

export const stageInPlace = (service: ServiceContext): ReplayStage => ({
  ...{ ...over(service), isFork: false, state: 'now', close: async () => {} },
})

/** A fork, at a moment in the past if the history reaches so far, and otherwise now: some services keep no history. */
export async function stageInFork(service: ServiceContext, past: PastMoment | undefined): Promise<ReplayStage> {
  const { openFork } = sandboxOf(service)
  const before =
    past &&
    (await openFork(past).catch((error: unknown) => {
      if (!(error instanceof StateForgotten)) throw error
    }))
  const fork = before ?? (await openFork())
  return { ...over(fork.service), isFork: true, state: before ? 'before' : 'now', close: fork.close }
}

const over = (service: ServiceContext) => ({
  service,
  /** It comes over no network, so it passes the guards of the sandbox. */
  send({ method, path, headers, body, causedBy }: Resent): Promise<Response> {
    const request = new Request(service.baseUrl + path, { method, headers, ...(body !== null && { body }) })
    const source = { headers: new Headers(headers), ...(causedBy !== undefined && { causedBy }) }
    return sandboxOf(service).respond(request, source)
  },
})
