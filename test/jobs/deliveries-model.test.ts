import { expect, test } from 'vitest'
import type { OutboxRow } from '../../src/base/message.js'
import { lanes } from '../../src/jobs/outbox/claiming.js'
import { postCharge, postMail, postPush, postRefund, postWebhook } from '../../src/jobs/outbox/outbox.js'
import { MOST_TRIES } from '../../src/jobs/schedule/due.js'
import type { Writer } from '../../src/storage/storage.js'
import { AT, newOutboxWorld, type PortCall } from '../support/scenes/deliveries.js'

const SECOND = 1000
const HOUR = 3600 * SECOND
const WAITS = [5 * SECOND, 30 * SECOND, 120 * SECOND, 600 * SECOND, HOUR]
const waitAfter = (attempts: number) => (WAITS[attempts - 1] ?? 6 * HOUR) * 1.125

const kinds = ['mail', 'awaited', 'push', 'card', 'refund', 'webhook'] as const
type Posted = (typeof kinds)[number]

/** Writes a message of an owner and host of its own. */
async function post(
  tx: Writer,
  kind: Posted,
  n: number,
  { at, staleAt }: { at: number; staleAt?: number | undefined },
) {
  const message = { to: `reader@host-${n}.test`, subject: 's', text: 't', at, ...(staleAt && { staleAt }) }
  const charge = { id: `c${n}`, payment_method_id: 'pm', on_file: false, amount: '5', decimals: 2, currency: 'USD' }
  if (kind === 'mail' || kind === 'awaited') return postMail(tx, { ...message, isAwaited: kind === 'awaited' })
  if (kind === 'push') return postPush(tx, { ...message, deviceId: 1, data: {} })
  if (kind === 'refund') {
    const refund = { id: `r${n}`, charge_id: 'ch', amount: '5', decimals: 2, currency: 'USD' }
    return postRefund(tx, { ...message, refund, purpose: 'checkout', purposeId: n })
  }
  if (kind === 'webhook') {
    const order = { webhookId: n, deliveryId: n, accountId: n, url: `https://host-${n}.test/`, type: 'client.a', at }
    return postWebhook(tx, await tx.nextId('outbox'), order)
  }
  const order = {
    ...message,
    charge: { ...charge, customer_id: null } as never,
    purpose: 'topup' as const,
    subjects: [],
  }
  await postCharge(tx, { ...order, purposeId: n, claim: undefined })
}

test('each lane has so many messages on their way at once, the earliest first, and lends no place', async () => {
  const world = newOutboxWorld()
  const most = { awaited: 32, mail: 64, push: 64, card: 16, refund: 8, webhook: 512 }
  let n = 0
  await world.storage.write(async (tx) => {
    n = 0
    for (const kind of kinds) for (let each = 0; each < most[kind] + 5; each++) await post(tx, kind, ++n, { at: AT })
  })
  // Awaited mails come after the others, and the lane of mails is full.
  expect(await world.rounds()).toBeUndefined()
  const count = (calls: readonly { readonly message: OutboxRow }[]) => {
    const counts: Record<string, number> = {}
    for (const { message } of calls) {
      const lane = message.lane ?? message.kind
      counts[lane] = (counts[lane] ?? 0) + 1
    }
    return counts
  }
  const first = world.take()
  expect(count(first)).toEqual(most)
  for (const { message } of first) expect(message.attempts).toBe(1)
  const ofCards = first.filter(({ message }) => message.kind === 'card').slice(0, 3)
  for (const call of ofCards) call.answer()
  await world.turn()
  await world.rounds()
  expect(count(world.take())).toEqual({ card: 3 })
})

/** Numbers that look random, and are the same in every run. */
function drawing(seed: number) {
  let last = seed
  return (below: number): number => {
    last = (last * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((last / 2 ** 31) * below)
  }
}

interface Known {
  readonly id: number
  readonly kind: Posted
  readonly staleAt: number | undefined
  due: number
  attempts: number
  state: 'waiting' | 'away' | 'answered' | 'failing' | 'sent' | 'failed' | 'parked'
  lane?: string
  isAnswerKept: boolean
}

/** What the outbox must do, without rows, claims and transactions. */
class PlainOutbox {
  readonly messages: Known[] = []
  readonly logged: string[] = []

  having(...states: Known['state'][]): Known[] {
    return this.messages.filter(({ state }) => states.includes(state))
  }

  /** `refused`: how many of the transactions that follow do not land. */
  run(at: number, refuses: (id: number) => boolean, refused: number): void {
    const ended = this.having('answered', 'failing')
    for (const [n, each] of ended.entries()) {
      // What has no answer is not settled.
      const isRefused = each.state === 'answered' && refuses(each.id)
      this.#record(each, at, isRefused || (refused > 1 && n === 0))
    }
    for (const { name, most } of lanes) {
      const fitting = this.having('waiting').filter(
        ({ kind }) => kind === name || (name === 'mail' && kind === 'awaited'),
      )
      for (const each of fitting.sort((a, b) => a.due - b.due || a.id - b.id)) {
        if (each.due > at) break
        if (this.having('away').filter(({ lane }) => lane === name).length === most) break
        if (each.staleAt !== undefined && each.staleAt <= at) each.state = 'sent'
        else
          Object.assign(each, {
            state: each.isAnswerKept ? 'answered' : 'away',
            lane: name,
            attempts: each.attempts + 1,
          })
      }
    }
    if (this.having('answered', 'failing').length > 0) this.run(at, refuses, 0)
  }

  #record(each: Known, at: number, isRefused: boolean): void {
    const kind = each.kind === 'awaited' ? 'mail' : each.kind
    const isLast = each.attempts === MOST_TRIES
    if (each.state === 'answered' && !isRefused) {
      each.state = 'sent'
      return
    }
    const isFailed = each.state === 'failing'
    if (isRefused) this.logged.push(`the outcome of ${kind} ${each.id} could not be recorded and is tried again`)
    if (!isFailed) each.isAnswerKept = true
    each.due = at + Math.round(waitAfter(each.attempts))
    if (isLast) each.state = isRefused ? 'parked' : 'failed'
    else each.state = 'waiting'
  }
}

const newMessage = (id: number, at: number): Known => ({
  ...{ id, kind: kinds[(id * 7 + (id >> 3)) % 5] ?? 'card', due: at + ((id * 13) % 3) * 4000 },
  ...{ staleAt: id % 11 === 0 ? at + 9000 : undefined, attempts: 0, state: 'waiting', isAnswerKept: false },
})

/** In how many steps messages are posted. Those that always fail take the rest. */
const STEPS = 35

test.each([1, 2])(
  'what is posted, sent, recorded and refused in any order ends as in a plain list (seed %s)',
  async (seed) => {
    const draw = drawing(seed)
    const refusing = new Set<number>()
    const refuses = (id: number) => refusing.has(id)
    const world = newOutboxWorld({
      settle({ id }) {
        if (refuses(id)) throw new Error('refused')
        return 'sent'
      },
    })
    const plain = new PlainOutbox()
    const away = new Map<number, { readonly call: PortCall; readonly begunAt: number }>()
    for (let step = 0; step < STEPS || plain.having('waiting', 'away').length > 0; step++) {
      expect(step).toBeLessThan(STEPS + 80)
      const posted = step < STEPS ? [1, 2, 3, 4].map((n) => newMessage(step * 4 + n, world.clock.at)) : []
      plain.messages.push(...posted)
      await world.storage.write(async (tx) => {
        for (const { id, kind, due: at, staleAt } of posted) await post(tx, kind, id, { at, staleAt })
      })
      refusing.clear()
      for (const each of plain.messages) if ((step < STEPS && draw(9) === 0) || each.id === 81) refusing.add(each.id)
      for (const [id, { call, begunAt }] of away) {
        const known = plain.messages.find((each) => each.id === id)
        // An owner who is slow gets fewer places.
        const isOld = world.clock.at - begunAt > 3500
        if (!known || (step < STEPS && !isOld && draw(5) > 1)) continue
        const isFailing = (step < STEPS && draw(3) === 0) || id === 82
        known.state = isFailing ? 'failing' : 'answered'
        if (isFailing) call.fail()
        else call.answer()
        if (isFailing) {
          const outcome = known.attempts < MOST_TRIES ? 'stays in the outbox and is tried again' : 'is given up'
          plain.logged.push(`${call.message.kind} ${id} could not be sent and ${outcome}`)
        }
        away.delete(id)
      }
      await world.turn()
      const refused = plain.having('answered', 'failing').length > 0 && step < STEPS ? draw(3) : 0
      for (let n = 0; n < refused; n++) world.faults.push('the storage refuses')
      plain.run(world.clock.at, refuses, refused)
      const next = await world.rounds()
      for (const call of world.take()) away.set(call.message.id, { call, begunAt: world.clock.at })
      const known = plain.having('away').map(({ id }) => id)
      expect([...away.keys()].sort((a, b) => a - b)).toEqual(known)
      expect(world.service.ongoing.size).toBe(known.length)
      const later = plain.having('waiting').flatMap(({ due }) => (due > world.clock.at ? [due] : []))
      expect(next).toBe(later.length === 0 ? undefined : Math.min(...later))
      const rows = await world.rows()
      const stateOf = ({ status, parked_at, claim }: OutboxRow) =>
        parked_at !== undefined ? 'parked' : claim ? 'away' : status === 'pending' ? 'waiting' : status
      expect(rows.map((row) => [row.id, stateOf(row), row.attempts, 'answer' in row])).toEqual(
        plain.messages.flatMap(({ id, state, attempts, isAnswerKept }) =>
          state === 'sent' ? [] : [[id, state, attempts, isAnswerKept]],
        ),
      )
      for (const { id, due } of plain.having('waiting')) expect(rows.find((row) => row.id === id)?.due_at).toBe(due)
      expect(world.logged.splice(0).sort()).toEqual(plain.logged.splice(0).sort())
      world.clock.at += draw(1300)
      if (away.size === 0) world.clock.at = Math.max(next ?? 0, world.clock.at)
    }
    expect(plain.messages.flatMap(({ id, state }) => (state === 'sent' ? [] : [[id, state]]))).toEqual([
      [81, 'parked'],
      [82, 'failed'],
    ])
    expect([...world.dead.keys(), ...world.givenUp]).toEqual(['message:81', 82])
  },
)
