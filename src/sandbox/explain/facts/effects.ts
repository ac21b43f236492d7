import { HIDDEN } from '../../../base/text/redacted.js'
import { events } from '../../../jobs/events/event.js'
import { codesIn, outbox } from '../../../jobs/outbox/outbox.js'
import { timers } from '../../../jobs/schedule/timer.js'
import { movements } from '../../../money/ledger/movement.js'
import { twins } from '../../../money/twins/twin.js'
import type { Reader } from '../../../storage/storage.js'
import type { Effect } from '../../onion/entry.js'
import { listText, money, shownAmount, timeText } from './words.js'

/** What an entry caused, in sentences and as data. */
export async function describeEffects(tx: Reader, caused: readonly Effect[]) {
  const described = await Promise.all(caused.slice(0, MOST_EFFECTS).map((effect) => describe(tx, effect)))
  const rest = caused.length - described.length
  return {
    sentences: [...described.map(({ sentence }) => sentence), ...(rest > 0 ? [`It caused ${rest} more effects.`] : [])],
    facts: described.map(({ sentence, ...fact }) => fact),
  }
}

/** More effects than people read. */
const MOST_EFFECTS = 20

interface Described {
  readonly sentence: string
  readonly kind: string
  readonly id: string | number
  readonly [fact: string]: unknown
}

function describe(tx: Reader, effect: Effect): Promise<Described> {
  const { kind, id } = effect
  switch (kind) {
    case 'movement':
      return movement(tx, effect)
    case 'event':
      return event(tx, effect)
    case 'mail':
    case 'push':
    case 'card':
    case 'webhook':
      return message(tx, effect)
    case 'timer':
      return timer(tx, effect)
    case 'upstream':
      return Promise.resolve({ sentence: `It called ${id}.`, kind, id })
    case 'entry':
      return Promise.resolve({ sentence: `It led to the entry ${id}.`, kind, id })
  }
}

async function movement(tx: Reader, { kind, id }: Effect): Promise<Described> {
  const row = await tx.get(movements, Number(id))
  if (!row) return { sentence: `Movement ${id} is no longer there.`, kind, id }
  const [payer, payee] = await tx.getMany(twins, [row.payer_twin_id, row.payee_twin_id ?? 0])
  const parties = { from: payer?.hostname ?? null, to: payee?.hostname ?? null }
  const moved = await money(tx, row.dq, row.amount)
  const sentence =
    row.state === 'held'
      ? `Movement ${id} holds ${moved} of ${parties.from}.`
      : row.state === 'reversed'
        ? `Movement ${id} gave ${moved} back to ${parties.from}.`
        : `Movement ${id} moved ${moved} from ${parties.from} to ${parties.to} (${row.kind}).`
  return {
    sentence,
    kind,
    id,
    ...parties,
    dq: row.dq,
    amount: await shownAmount(tx, row.dq, row.amount),
    state: row.state,
  }
}

async function event(tx: Reader, { kind, id }: Effect): Promise<Described> {
  const row = await tx.get(events, Number(id))
  if (!row) return { sentence: `Event ${id} is no longer there.`, kind, id }
  const owners = [row.owner, ...(row.other ? [row.other] : [])]
  return {
    sentence: `Event ${id}, \`${row.type}\`, went to ${listText(owners)}.`,
    kind,
    id,
    type: row.type,
    owners,
    // Whoever knows the hash of a delegate may spend.
    subject: row.subject?.replace(/^delegate:.*/s, `delegate:${HIDDEN}`) ?? null,
  }
}

async function message(tx: Reader, { kind, id }: Effect): Promise<Described> {
  const row = await tx.get(outbox, Number(id))
  if (!row) return { sentence: `The ${kind} ${id} is no longer in the outbox.`, kind, id }
  const { to, status } = row
  // The outbox shows the codes of mails.
  const subject = codesIn(row).reduce((text, code) => text.replaceAll(code, HIDDEN), row.subject)
  return { sentence: `A ${kind} to ${to} is \`${status}\`: “${subject}”.`, kind, id, to, subject, status }
}

async function timer(tx: Reader, { kind, id }: Effect): Promise<Described> {
  const row = await tx.get(timers, Number(id))
  if (!row) return { sentence: `Timer ${id} is no longer set.`, kind, id }
  const due = row.due_at === null ? null : timeText(row.due_at)
  return {
    sentence: `The timer \`${row.kind}\` for ${row.subject} ${due === null ? 'is parked' : `runs at ${due}`}.`,
    kind,
    id,
    timer: row.kind,
    subject: row.subject,
    due_at: due,
  }
}
