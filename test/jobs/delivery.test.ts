import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { OutboxRow } from '../../src/base/message.js'
import {
  codesIn,
  isOfCard,
  linksIn,
  outbox,
  postCharge,
  postMail,
  postPush,
  postRefund,
  postWebhook,
} from '../../src/jobs/outbox/outbox.js'
import { sharerOf } from '../../src/jobs/outbox/shares.js'
import { AT, newOutboxWorld } from '../support/scenes/deliveries.js'

type World = ReturnType<typeof newOutboxWorld>

const kinds = ['mail', 'push', 'card', 'refund', 'webhook'] as const

const rowOf = (id: number, kind: OutboxRow['kind'], more: object = {}) =>
  ({
    ...{ id, kind, to: `reader@host-${id}.test`, subject: 's', text: 't', status: 'pending', attempts: 0 },
    ...{ created_at: AT, due_at: AT, due_set_at: AT, stale_at: null, ...more },
  }) as OutboxRow // As much of it as its delivery reads.

const putAll = ({ storage }: World, rows: readonly OutboxRow[]) =>
  storage.write(async (tx) => {
    for (const row of rows) tx.put(outbox, row)
  })

test.each([
  [0, 60_000],
  [58_999, 60_000],
  [59_001, 60_001],
  [600_000, 601_000],
])(
  'where a charge may take %i ms, a port has %i ms to answer, and nothing rings after an answer',
  async (cardMs, ms) => {
    const world = newOutboxWorld({ cardMs })
    await putAll(world, [rowOf(1, 'mail'), rowOf(2, 'mail')])
    await world.rounds()
    expect([...world.alarms].map(({ at }) => at)).toEqual([AT + ms, AT + ms])
    world.take()[1]?.answer()
    await world.turn()
    expect(world.alarms.size).toBe(1)
    await world.pass(ms)
    await world.rounds()
    expect(world.logged).toEqual(['mail 1 could not be sent and stays in the outbox and is tried again'])
    expect(await world.rows()).toMatchObject([{ id: 1, due_at: AT + ms + 5625, attempts: 1, claim: null }])
  },
)

test('each message goes to the handler of its kind, and one whose handler cannot be loaded waits without end', async () => {
  const broken = () => Promise.reject(new Error('gone'))
  for (const kind of kinds) {
    const world = newOutboxWorld({ handlers: { [kind]: broken } })
    await putAll(
      world,
      kinds.map((each, n) => rowOf(n + 1, each, { attempts: 15 })),
    )
    await world.rounds()
    expect(
      world
        .take()
        .map(({ message }) => message.kind)
        .sort(),
    ).toEqual(kinds.filter((each) => each !== kind).sort())
    const id = kinds.indexOf(kind) + 1
    expect(world.logged).toEqual([`${kind} ${id} stays in the outbox: what sends it could not be loaded`])
    const left = (await world.rows()).find((row) => row.id === id)
    expect(left).toMatchObject({ status: 'pending', attempts: 16, due_at: AT + 24_300_000, claim: null })
    expect(world.givenUp.size).toBe(0)
  }
})

test('an answer that asks for another try is forgotten, and the port is asked again after the time that it names', async () => {
  const answers: ('sent' | { retryAfterMs: number })[] = [{ retryAfterMs: 8000 }, 'sent']
  let tries = 0
  const world = newOutboxWorld({ settle: ({ attempts }) => answers[(tries = attempts - 1)] ?? 'failed' })
  await putAll(world, [rowOf(1, 'mail', { answer: 'kept' })])
  await world.rounds()
  expect(world.take()).toEqual([])
  expect(await world.rows()).toEqual([
    rowOf(1, 'mail', { attempts: 1, due_at: AT + 9000, due_set_at: AT, claim: null }),
  ])
  world.clock.at += 9000
  await world.rounds()
  world.take()[0]?.answer()
  await world.turn()
  await world.rounds()
  expect([tries, await world.rows()]).toEqual([1, []])
})

test.each([
  ['mail', {}, { kind: 'mail', subject: 'reader@host-1.test' }],
  ['push', { device_id: 1 }, { kind: 'push', subject: 'reader@host-1.test' }],
  ['card', { purpose: 'topup', purpose_id: 7 }, { kind: 'card_topup', subject: '7' }],
  ['refund', { purpose: 'checkout', purpose_id: 8 }, { kind: 'refund_checkout', subject: '8' }],
] as const)('a %s whose outcome cannot be recorded at its last try is a dead letter', async (kind, more, letter) => {
  const world = newOutboxWorld({
    settle() {
      throw new Error('refused')
    },
  })
  await putAll(world, [rowOf(1, kind, { attempts: 15, ...more })])
  await world.rounds()
  world.take()[0]?.answer('done')
  await world.turn()
  await world.rounds()
  expect([...world.dead.values()]).toEqual([{ ...letter, id: 'message:1' }])
  expect(await world.rows()).toEqual([
    rowOf(1, kind, {
      ...{ ...more, attempts: 16, answer: 'done', parked_at: AT, due_at: null, due_set_at: null, claim: null },
    }),
  ])
})

test('the journal learns of each try in its order, of the faults in it, and how it ended', async () => {
  const noted: unknown[] = []
  const recorder = {
    beginWork({ onPort: _, ...work }: { onPort?: unknown; id: number }) {
      noted.push(work)
      return {
        over: (service: object) => service,
        end: ({ written, failure }: { written: unknown; failure: string | undefined }) =>
          noted.push([work.id, typeof written, failure]),
        noteFault: (fault: string) => noted.push([work.id, fault]),
      }
    },
  }
  const world = newOutboxWorld({ recorder })
  await putAll(world, [rowOf(1, 'mail'), rowOf(2, 'push')])
  await world.rounds()
  const [first, second] = world.take()
  first?.answer()
  second?.fail()
  await world.turn()
  world.faults.push('f1')
  await world.rounds()
  expect(noted).toEqual([
    ...[1, 2].map((id) => ({ origin: 'delivery', kind: id === 1 ? 'mail' : 'push', id })),
    ...[
      [1, 'f1'],
      [2, 'f1'],
    ],
    ...[
      [1, 'object', undefined],
      [2, 'object', 'It was not accepted. The log has the reason.'],
    ],
  ])
})

test('the outcome of a message that is gone, or whose claim has changed, is not recorded', async () => {
  const world = newOutboxWorld()
  await putAll(world, [rowOf(1, 'mail'), rowOf(2, 'mail'), rowOf(3, 'mail')])
  await world.rounds()
  await world.storage.write(async (tx) => {
    tx.remove(outbox, 1)
    tx.put(outbox, rowOf(2, 'mail', { due_at: null, due_set_at: null }))
  })
  for (const call of world.take()) call.answer()
  await world.turn()
  await world.rounds()
  expect([await world.noted(), (await world.rows()).map(({ id }) => id)]).toEqual([[3], [2]])
})

test('each kind of message is written with all that its delivery reads', async () => {
  const storage = memoryStorage()
  const refund = { id: 'r', charge_id: 'ch', amount: '5', decimals: 2, currency: 'USD' }
  const charge = { id: 'c', payment_method_id: 'pm' } as never
  const message = { to: 'a@b.test', subject: 's', text: 't', at: AT }
  await storage.write(async (tx) => {
    await postMail(tx, message)
    await postMail(tx, { ...message, isAwaited: true, owner: 'user:1', staleAt: AT + 5 })
    await postPush(tx, { ...message, deviceId: 4, data: { a: 'b' } })
    await postRefund(tx, { ...message, refund, purpose: 'checkout', purposeId: 9 })
    const card = { ...message, charge, purpose: 'topup', purposeId: 7, subjects: ['user:1'] } as const
    await postCharge(tx, { ...card, claim: 'a:1' })
    await postCharge(tx, { ...card, claim: undefined })
    postWebhook(tx, 50, { webhookId: 3, deliveryId: 6, accountId: 8, url: 'https://c.test/', type: 'client.a', at: AT })
  })
  const common = { created_at: AT, status: 'pending', attempts: 0, due_at: AT, due_set_at: AT, stale_at: null }
  const row = { to: 'a@b.test', subject: 's', text: 't', ...common }
  const card = { ...row, kind: 'card', charge, purpose: 'topup', purpose_id: 7, subjects: ['user:1'] }
  expect((await storage.export()).rows.outbox).toEqual([
    { id: 1, ...row, kind: 'mail' },
    { id: 2, ...row, kind: 'mail', lane: 'awaited', owner: 'user:1', stale_at: AT + 5 },
    { id: 3, ...row, kind: 'push', device_id: 4, data: { a: 'b' } },
    { id: 4, ...row, kind: 'refund', refund, purpose: 'checkout', purpose_id: 9 },
    { id: 5, ...card, attempts: 1, claim: 'a:1' },
    { id: 6, ...card },
    {
      ...{ id: 50, ...common, to: 'https://c.test/', subject: 'client.a', text: '', owner: 'account:8' },
      ...{ kind: 'webhook', queue: 'webhook:3', webhook_id: 3, delivery_id: 6 },
    },
  ])
})

test('the codes and links of a message are those of its text, and an amount on a card is no code', () => {
  const text =
    'Your code is 123456, not 1234567 or 12345. See (https://a.test/654321?b=c), <http://b.test/x>!, http://c.test.'
  expect(kinds.map((kind) => codesIn(rowOf(1, kind, { text })))).toEqual([['123456'], ['123456'], [], [], ['123456']])
  expect(linksIn(rowOf(1, 'mail', { text }))).toEqual(['https://a.test/654321?b=c', 'http://b.test/x', 'http://c.test'])
  expect([codesIn(rowOf(1, 'mail')), linksIn(rowOf(1, 'mail'))]).toEqual([[], []])
  expect(kinds.filter(isOfCard)).toEqual(['card', 'refund'])
})

test.each([
  [{ to: 'ada@mail.test' }, { owner: 'ada@mail.test', host: 'mail.test' }],
  [
    { to: '"a@b"@mail.test', owner: 'user:1' },
    { owner: 'user:1', host: 'mail.test' },
  ],
  [
    { to: 'https://hook.test:8443/a@b', owner: 'account:1' },
    { owner: 'account:1', host: 'hook.test:8443' },
  ],
  [{ to: 'twin.test' }, { owner: 'twin.test', host: 'twin.test' }],
])('%j takes a place of its owner and of its host', (message, sharer) => {
  expect(sharerOf(message)).toEqual(sharer)
})
