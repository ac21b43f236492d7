import { HIDDEN } from '../../../base/text/redacted.js'
import { events } from '../../../jobs/events/event.js'
import { codesIn, outbox } from '../../../jobs/outbox/outbox.js'
import { timers } from '../../../jobs/schedule/timer.js'
import { movements } from '../../../money/ledger/movement.js'
import { twins } from '../../../money/twins/twin.js'
import type { Reader } from '../../../storage/storage.js'
import type { Effect, EffectKind, Entry } from '../../onion/entry.js'
import type { Explained, FactsByName } from './explanation.js'
import type { RefusedRequest } from './refused-request.js'
import { listText, money, shownAmount, timeText } from './words.js'

/** More effects than people read. */
const MOST_EFFECTS = 20

/** What an entry caused, in sentences and as data. */
export async function describeEffects(tx: Reader, caused: readonly Effect[]) {
  const shown = caused.slice(0, MOST_EFFECTS)
  const described = await Promise.all(shown.map((effect) => describers[effect.kind](tx, effect)))
  const rest = caused.length - shown.length
  return {
    sentences: [...described.map(({ sentence }) => sentence), ...(rest > 0 ? [`It caused ${rest} more effects.`] : [])],
    facts: shown.map(({ kind, id }, i): FactsByName => ({ kind, id, ...described[i]?.facts })),
  }
}

interface Described {
  readonly sentence: string
  /** None for what is no longer there. */
  readonly facts?: FactsByName
}

const describers: Readonly<Record<EffectKind, (tx: Reader, effect: Effect) => Promise<Described>>> = {
  async movement(tx, { id }) {
    const row = await tx.get(movements, Number(id))
    if (!row) return { sentence: `Movement ${id} is no longer there.` }
    const { dq, state } = row
    const named = await tx.getMany(twins, [row.payer_twin_id, row.payee_twin_id ?? 0])
    const [from, to] = named.map((twin) => twin?.hostname ?? null)
    const moved = await money(tx, dq, row.amount)
    const said = {
      held: `holds ${moved} of ${from}`,
      reversed: `gave ${moved} back to ${from}`,
      posted: `moved ${moved} from ${from} to ${to} (${row.kind})`,
    }[state]
    const amount = await shownAmount(tx, dq, row.amount)
    return { sentence: `Movement ${id} ${said}.`, facts: { from, to, dq, amount, state } }
  },

  async event(tx, { id }) {
    const row = await tx.get(events, Number(id))
    if (!row) return { sentence: `Event ${id} is no longer there.` }
    const owners = [row.owner, ...(row.other ? [row.other] : [])]
    // Whoever knows the hash of a delegate may spend.
    const subject = row.subject?.replace(/^delegate:.*/s, `delegate:${HIDDEN}`) ?? null
    const sentence = `Event ${id}, \`${row.type}\`, went to ${listText(owners)}.`
    return { sentence, facts: { type: row.type, owners, subject } }
  },

  async timer(tx, { id }) {
    const row = await tx.get(timers, Number(id))
    if (!row) return { sentence: `Timer ${id} is no longer set.` }
    const due_at = row.due_at === null ? null : timeText(row.due_at)
    const { kind, subject } = row
    const sentence = `The timer \`${kind}\` for ${subject} ${due_at === null ? 'is parked' : `runs at ${due_at}`}.`
    return { sentence, facts: { timer: kind, subject, due_at } }
  },

  upstream: async (_, { id }) => ({ sentence: `It called ${id}.` }),
  entry: async (_, { id }) => ({ sentence: `It led to the entry ${id}.` }),
  mail: message,
  push: message,
  card: message,
  webhook: message,
}

async function message(tx: Reader, { kind, id }: Effect): Promise<Described> {
  const row = await tx.get(outbox, Number(id))
  if (!row) return { sentence: `The ${kind} ${id} is no longer in the outbox.` }
  const { to, status } = row
  // The outbox shows the codes of mails.
  const subject = codesIn(row).reduce((text, code) => text.replaceAll(code, HIDDEN), row.subject)
  return { sentence: `A ${kind} to ${to} is \`${status}\`: “${subject}”.`, facts: { to, subject, status } }
}

/** Says what a retry does if the answer of this call was lost, and whether this call did again what one before it did. */
export async function describeRetries({ entry, operation, findEarlier }: RefusedRequest): Promise<Explained> {
  if (!operation?.idempotent || entry.caused.length === 0) return { sentences: [] }
  const key = keyOf(entry)
  if (isLost(entry)) return { sentences: [key === undefined ? LOST_WITHOUT_KEY : LOST] }
  const before = await findEarlier((earlier) => isSameCall(earlier, entry))
  if (!before || !isLost(before) || (key !== undefined && key === keyOf(before))) return { sentences: [] }
  const sentence = `${before.id} is the same call, and its answer was lost. This one has ${key === undefined ? 'no' : 'a different'} Idempotency-Key. If it was a retry, its caller did this twice: send each try with the key of the first.`
  return { sentences: [sentence], facts: { repeats: before.id } }
}

const LOST =
  'It happened, but its answer was lost. A retry with the same Idempotency-Key gets the answer. With a different key, it happens again.'
const LOST_WITHOUT_KEY =
  'It happened, but its answer was lost. It had no Idempotency-Key, so with a retry it happens again.'

const keyOf = ({ request }: Entry): string | undefined => request.headers['idempotency-key']
const isLost = ({ status, ms, caused }: Entry): boolean => status === null && ms !== null && caused.length > 0

const isSameCall = (one: Entry, other: Entry): boolean =>
  one.operation_id === other.operation_id &&
  one.path === other.path &&
  one.principal === other.principal &&
  one.request.body === other.request.body
