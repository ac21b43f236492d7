import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { StateForgotten } from '../../storage/history/history.js'
import { showEntry } from '../journal/kept-entry.js'
import { answerPlace } from '../journal/places.js'
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

/** Sends the request of an entry again, with fresh credentials of the same caller. Throws `not_found`, `not_replayable`. */
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
    return {
      entry,
      state: stage.state,
      ...(diff && compareAnswers(was, entry, { strict, place: answerPlace(was.route, was.status) })),
      effects: await compare({ was, moved, is: entry }, stage),
    }
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

async function compare(
  { was, moved, is }: { was: Entry; moved: Awaited<ReturnType<typeof movementsOf>>; is: Entry },
  { service }: ReplayStage,
): Promise<ComparedEffects> {
  const now = await service.storage.read((tx) => movementsOf(tx, is))
  return compareEffects({ caused: was.caused, movements: moved }, { caused: is.caused, movements: now ?? [] })
}

export interface Resent {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The id of the entry that it repeats. */
  readonly causedBy?: string
}

/** Where a request is sent again: the sandbox itself, or a fork of it. */
export interface ReplayStage {
  readonly service: ServiceContext
  readonly isFork: boolean
  /** Its state: that of now, or that before the first request. */
  readonly state: 'now' | 'before'
  send(request: Resent): Promise<Response>
  close(): Promise<void>
}

export function stageInPlace(service: ServiceContext): ReplayStage {
  return { ...over(service), isFork: false, state: 'now', close: async () => {} }
}

/**
 * A fork, in the state and at the time of a moment in the past, if the history reaches so far. Otherwise in those of now:
 * some services keep no history.
 */
export async function stageInFork(service: ServiceContext, past: PastMoment | undefined): Promise<ReplayStage> {
  const fork = await openFork(service, past)
  return { ...over(fork.service), isFork: true, state: fork.state, close: fork.close }
}

async function openFork(service: ServiceContext, past: PastMoment | undefined) {
  const sandbox = sandboxOf(service)
  if (past)
    try {
      return { ...(await sandbox.openFork(past)), state: 'before' as const }
    } catch (error) {
      if (!(error instanceof StateForgotten)) throw error
    }
  return { ...(await sandbox.openFork()), state: 'now' as const }
}

const over = (service: ServiceContext) => ({ service, send: (request: Resent) => sendTo(service, request) })

/** Sends a request to a service. It comes over no network, so it passes the guards of the sandbox. */
function sendTo(service: ServiceContext, { method, path, headers, body, causedBy }: Resent): Promise<Response> {
  const sandbox = sandboxOf(service)
  const request = new Request(service.baseUrl + path, { method, headers, ...(body !== null && { body }) })
  return sandbox.respond(request, { headers: new Headers(headers), ...(causedBy !== undefined && { causedBy }) })
}
