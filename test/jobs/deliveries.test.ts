import { describe, expect, test } from 'vitest'
import type { CardRow, OutboxRow } from '../../src/base/message.js'
import { outbox, postCharge, postMail, postWebhook } from '../../src/jobs/outbox/outbox.js'
import { AT, newOutboxWorld, type OutboxWorldOptions, type PortCall } from '../support/scenes/deliveries.js'

type World = ReturnType<typeof newOutboxWorld>
const idsOf = (calls: readonly PortCall[]) => calls.map(({ message: { id } }) => id)

/** Writes mails of one owner. */
const mails = ({ storage, clock }: World, count: number, { to = 'reader@one.test', at = clock.at } = {}) =>
  storage.write(async (tx) => {
    for (let n = 0; n < count; n++) await postMail(tx, { to, subject: 's', text: 't', at })
  })

async function answerAll(world: World, calls: readonly PortCall[], result?: unknown) {
  for (const call of calls) call.answer(result)
  await world.turn()
}

const charge = { id: 'c', payment_method_id: 'pm', on_file: false, amount: '5', decimals: 2, currency: 'USD' } as never

describe('who shares a lane', () => {
  test('an owner of many messages takes a third of half a lane, half as much after it was slow, and all again when it is quick', async () => {
    const world = newOutboxWorld()
    await mails(world, 60)
    expect(await world.rounds()).toBeUndefined()
    const first = world.take()
    expect(idsOf(first)).toEqual(Array.from({ length: 11 }, (_, n) => n + 1))
    // Another owner begins at once, and the first one not before its own have ended.
    await mails(world, 1, { to: 'ada@two.test' })
    await world.rounds()
    expect(idsOf(world.take())).toEqual([61])
    await mails(world, 1)
    await world.rounds()
    expect(world.take()).toEqual([])
    const counts: number[] = []
    const ids = idsOf(first)
    let calls = first
    for (const ms of [0, 4999, 5000, 0, 0]) {
      world.clock.at += ms
      await answerAll(world, calls)
      await world.rounds()
      calls = world.take()
      counts.push(calls.length)
      ids.push(...idsOf(calls))
    }
    expect(counts).toEqual([11, 11, 5, 11, 11])
    expect(ids).toEqual(Array.from({ length: 60 }, (_, n) => n + 1))
  })

  test.each([
    ['timeout', 86, 43],
    ['refused', 86, 86],
  ])('an owner whose receiver answers "%s" has %i messages on their way, and then %i', async (error, before, after) => {
    const world = newOutboxWorld()
    await world.storage.write(async (tx) => {
      for (let n = 1; n <= 200; n++) {
        const order = { webhookId: n, deliveryId: n, accountId: 1, url: 'https://one.test/', type: 'client.a', at: AT }
        postWebhook(tx, await tx.nextId('outbox'), order)
      }
    })
    await world.rounds()
    const calls = world.take()
    expect(calls.length).toBe(before)
    await answerAll(world, calls, { at: AT, status: null, ms: 1, error })
    await world.rounds()
    expect(world.take().length).toBe(after)
  })

  test('a mailer that answers "timeout" makes nobody slow', async () => {
    const world = newOutboxWorld()
    await mails(world, 30)
    await world.rounds()
    await answerAll(world, world.take(), { error: 'timeout' })
    await world.rounds()
    expect(world.take().length).toBe(11)
  })

  test('each of many owners who wait has its turn when its own message has ended, however many wait before it', async () => {
    const world = newOutboxWorld()
    for (let n = 0; n < 32; n++) await mails(world, 1, { to: `reader@filler-${n}.test` })
    const owners = Array.from({ length: 25 }, (_, n) => `reader@host-${String.fromCharCode(97 + n)}.test`)
    for (const to of owners) await mails(world, 3, { to })
    await world.rounds()
    const away = new Map(world.take().map((call) => [call.message.to, call]))
    expect(away.size).toBe(32 + owners.length)
    for (let n = 0; n < 2 * owners.length; n++) {
      const to = owners[(n * 9 + 24) % owners.length] ?? ''
      await answerAll(
        world,
        [away.get(to)].flatMap((call) => call ?? []),
      )
      await world.rounds()
      const begun = world.take()
      expect(begun.map(({ message }) => message.to)).toEqual([to])
      for (const call of begun) away.set(to, call)
    }
  })
})

describe('what others hold', () => {
  const claimed = async (world: World, claim: string) =>
    world.storage.write(async (tx) => {
      for (const row of await tx.find(outbox, { index: 'id', prefix: [], limit: 999 }))
        tx.put(outbox, { ...row, claim, attempts: 1 })
    })

  test('is looked at again after five seconds, or when something else is due before, and taken over from the dead', async () => {
    const alive = new Set(['b'])
    const asked: string[] = []
    const isAlive = async (name: string) => asked.push(name) > 0 && alive.has(name)
    const world = newOutboxWorld({ presence: { enter: async () => {}, isAlive } })
    // More than one search reads.
    await mails(world, 60)
    await claimed(world, 'b:1')
    expect(await world.rounds()).toBe(AT + 5000)
    // The empty lane asks nobody.
    expect(asked).toEqual(['b'])
    await mails(world, 1, { at: AT + 3000 })
    await mails(world, 1, { to: 'ada@two.test' })
    expect(await world.rounds()).toBe(AT + 3000)
    expect(idsOf(world.take())).toEqual([62])
    await mails(world, 1, { to: 'ada@three.test', at: AT + 9000 })
    world.clock.at += 3000
    expect(await world.rounds()).toBe(AT + 3000 + 5000)
    expect(idsOf(world.take())).toEqual([61])
    alive.clear()
    expect(await world.rounds()).toBe(AT + 9000)
    const over = world.take()
    expect(over.map(({ message: { id, attempts } }) => [id, attempts])).toEqual(
      Array.from({ length: 60 }, (_, n) => [n + 1, 2]),
    )
  })

  test('by this process, which no longer works on it, is tried at once', async () => {
    const world = newOutboxWorld()
    await mails(world, 2)
    await claimed(world, 'a:before')
    await world.rounds()
    expect(idsOf(world.take())).toEqual([1, 2])
  })

  test('is recorded by nobody else: an outcome of a message that was taken over changes nothing', async () => {
    const world = newOutboxWorld()
    await mails(world, 2)
    await world.rounds()
    await claimed(world, 'b:2')
    const before = await world.rows()
    const [first, second] = world.take()
    first?.answer()
    second?.fail()
    world.faults.push('f1', 'f2')
    await world.turn()
    expect(await world.rounds()).toBeUndefined()
    expect([await world.noted(), world.service.ongoing.size]).toEqual([[], 2])
    expect((await world.rows()).map(({ id }) => id)).toEqual(before.map(({ id }) => id))
  })
})

test('a clock that was moved back leaves each message as long to wait as it had', async () => {
  const world = newOutboxWorld()
  await mails(world, 1)
  await world.rounds()
  world.take()[0]?.fail()
  await world.turn()
  expect(await world.rounds()).toBe(AT + 5625)
  world.clock.at = AT - 86_400_000
  expect(await world.rounds()).toBe(world.clock.at + 5625)
})

test('the outcomes of one transaction are recorded in the order of their ids', async () => {
  const order: number[] = []
  const world = newOutboxWorld({ settle: ({ id }) => (order.push(id) > 0 ? 'sent' : 'failed') })
  await mails(world, 5)
  await world.rounds()
  const writes = world.world.writes
  await answerAll(world, world.take().reverse())
  await world.rounds()
  expect(order.slice(0, 5)).toEqual([1, 2, 3, 4, 5])
  expect(world.world.writes).toBe(writes + 1)
})

describe('a charge that its caller delivers', () => {
  async function charging(options: OutboxWorldOptions = {}) {
    const world = newOutboxWorld(options)
    const order = { to: 'shop.test', subject: 's', text: 't', at: AT, purpose: 'topup', purposeId: 7 } as const
    const row = await world.storage.write((tx) => postCharge(tx, { ...order, charge, subjects: [], claim: 'a:mine' }))
    const result = world.deliveries.charge(row as CardRow)
    await world.turn()
    return { ...world, result, call: world.take()[0] }
  }
  const succeeded = { status: 'succeeded', charge_id: 'ch_1' }

  test('has the result of its port, which is recorded', async () => {
    const world = await charging()
    world.call?.answer(succeeded)
    expect(await world.result).toEqual(succeeded)
    expect([await world.rows(), await world.noted(), world.closing.size, world.logged]).toEqual([[], [1], 0, []])
  })

  test('has no result when the port does not answer, and is tried again', async () => {
    const world = await charging()
    world.call?.fail()
    expect(await world.result).toBeUndefined()
    expect(world.logged).toEqual(['card 1 could not be sent and stays in the outbox and is tried again'])
    expect(await world.rows()).toMatchObject([{ due_at: AT + 5625, claim: null, attempts: 1 }])
  })

  test('has no result that could not be recorded, and the next try records it', async () => {
    const world = await charging()
    world.faults.push('f1')
    world.call?.answer(succeeded)
    expect(await world.result).toBeUndefined()
    expect(world.logged).toEqual(['the outcome of card 1 could not be recorded and is tried again'])
    expect(await world.rows()).toMatchObject([{ due_at: AT + 5625, claim: null, answer: succeeded }])
    world.clock.at += 5625
    await world.rounds()
    expect([world.take(), await world.noted()]).toEqual([[], [1]])
  })

  test('has no result when the service closes, which waits for it and records it', async () => {
    const world = await charging()
    for (const end of world.closing) end()
    expect(await world.result).toBeUndefined()
    expect(world.closing.size).toBe(0)
    let isClosed = false
    const closed = world.deliveries.finishAll(new Promise(() => {})).then(() => (isClosed = true))
    await world.turn()
    expect(isClosed).toBe(false)
    world.call?.answer(succeeded)
    await closed
    expect([await world.noted(), world.world.writes]).toEqual([[1], 1])
    await world.deliveries.finishAll(new Promise(() => {}))
    expect(world.world.writes).toBe(1)
  })
})

describe('a service that closes', () => {
  test('waits no longer than it may, records what has ended, and leaves the rest claimed', async () => {
    const world = newOutboxWorld()
    await mails(world, 3)
    await world.rounds()
    const [first] = world.take()
    let end = () => {}
    const late = new Promise<void>((resolve) => (end = resolve))
    let isClosed = false
    const closed = world.deliveries.finishAll(late).then(() => (isClosed = true))
    first?.answer()
    await world.turn()
    expect([isClosed, await world.noted()]).toEqual([false, []])
    end()
    await closed
    expect((await world.rows()).map(({ id, claim }) => [id, typeof claim])).toEqual([
      [2, 'string'],
      [3, 'string'],
    ])
    expect(await world.noted()).toEqual([1])
  })

  test('writes nothing if nothing has ended', async () => {
    const world = newOutboxWorld()
    await world.deliveries.finish(0)
    await world.deliveries.finishAll(Promise.resolve())
    expect(world.world.writes).toBe(0)
  })
})

describe('a clock that is moved', () => {
  test('delivers all lanes in the order of their times, whoever caused them, and waits no longer than it may', async () => {
    const world = newOutboxWorld({ mode: 'manual' })
    expect(await world.deliveries.nextDue()).toBeUndefined()
    await mails(world, 40)
    await world.storage.write(async (tx) => {
      const order = { to: 'shop.test', subject: 's', text: 't', at: AT - 1, purpose: 'topup', purposeId: 7 } as const
      await postCharge(tx, { ...order, charge, subjects: [], claim: undefined })
    })
    await mails(world, 1, { at: AT + 10 })
    expect(await world.deliveries.nextDue()).toBe(AT - 1)
    const due = async (by: number, result: unknown, ms = 0) => {
      const delivered = world.deliveries.deliverInOrder(by, 100)
      await world.turn()
      const calls = world.take()
      if (result) await answerAll(world, calls, result)
      else await world.pass(ms)
      await delivered
      return idsOf(calls)
    }
    expect(await due(AT - 1, 'sent')).toEqual([41])
    expect(await due(AT, 'sent')).toEqual(Array.from({ length: 32 }, (_, n) => n + 1))
    expect(world.alarms.size).toBe(0)
    expect(await world.deliveries.nextDue()).toBe(AT)
    expect(await due(AT, undefined, 100)).toEqual([33, 34, 35, 36, 37, 38, 39, 40])
    expect(await world.deliveries.nextDue()).toBe(AT + 10)
    expect((await world.rows()).filter(({ status }) => status === 'sent').length).toBe(33)
  })

  test('makes due what waits for a turn', async () => {
    const world = newOutboxWorld({ mode: 'manual' })
    await mails(world, 40)
    await world.rounds()
    expect([world.take().length, await world.deliveries.nextDue()]).toEqual([11, undefined])
    await world.deliveries.endTurns()
    expect(await world.deliveries.nextDue()).toBe(AT)
  })

  test.each([
    ['manual', 2],
    ['running', 0],
  ] as const)(
    'with a journal, a clock that is %s records %i messages whose ports answer at once',
    async (mode, recorded) => {
      const atPort = new Map<number, () => void>()
      const recorder = {
        beginWork({ id, onPort }: { id: number; onPort?: () => void }) {
          if (onPort) atPort.set(id, onPort)
          return { over: (service: object) => service, end: () => {}, noteFault: () => {} }
        },
      }
      const world = newOutboxWorld({ mode, recorder })
      await mails(world, 3)
      let hasEnded = false
      const round = world.deliveries.round().then(() => (hasEnded = true))
      await world.turn()
      expect(hasEnded).toBe(mode === 'running')
      const calls = world.take()
      for (const reach of atPort.values()) reach()
      for (const call of calls.slice(0, recorded)) call.answer()
      await world.turn()
      await world.pass(0)
      await round
      expect([atPort.size, await world.noted()]).toEqual([3, recorded === 2 ? [1, 2] : []])
    },
  )
})

test.each(['mail', 'push', 'card', 'webhook'] as const)(
  'a %s that is encrypted under another key is sent only if that says nothing secret',
  async (kind) => {
    for (const mode of [undefined, 'manual'] as const) {
      const world = newOutboxWorld(mode && { mode })
      await mails(world, 1)
      await world.storage.write(async (tx) => {
        for (const row of await tx.find(outbox, { index: 'id', prefix: [], limit: 9 }))
          tx.put(outbox, { ...row, kind, is_unreadable: true } as OutboxRow)
      })
      await world.rounds()
      const isSent = kind === 'card' || kind === 'webhook'
      expect(world.take().length).toBe(isSent ? 1 : 0)
      expect(world.logged).toEqual(isSent ? [] : [`${kind} 1 is encrypted under another key and is not sent`])
      const left = (await world.rows()).map(({ status, due_at }) => [status, due_at])
      if (!isSent) expect(left).toEqual(mode ? [['failed', null]] : [])
    }
  },
)
