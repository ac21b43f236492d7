import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { showEntry } from '../journal/kept-entry.js'
import { answerPlace } from '../journal/places.js'
import { entryOf } from '../journal/requests.js'
import type { Entry } from '../onion/entry.js'
import { draftOf, filledTemplate } from './call-draft.js'
import { compareAnswers, type Difference } from './difference.js'
import { type ComparedEffects, compareEffects, movementsOf } from './effects.js'
import { freshSecrets } from './fresh-secrets.js'
import { notReplayable } from './not-replayable.js'
import { type ReplayStage, stageInFork, stageInPlace } from './stage.js'

/** How to repeat a request. */
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

/** Sends a request again. Returns its entry. */
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
