import { expect, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { ChargeResult } from '../../src/index.js'
import { isChargeable } from '../../src/money/cards/charge.js'
import type { Storage } from '../../src/storage/storage.js'
import { countingCards, handAlarm, keptOpen, never, prepared, started } from '../support/scenes/card-processors.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { balanceOf, newPayer, newSeller } from '../support/scenes/world.js'
import { sharedByProcesses } from '../support/storage/presence.js'

test('a charge goes to the port in smallest units of the digital quantity, and is not stored after it is settled', async () => {
  const cards = countingCards()
  const { call, topUp, charges, service } = await started({ cards })
  const payer = await newPayer(call, await newSeller(call))
  expect((await topUp(payer)).status).toBe(201)
  expect(cards.asked).toEqual([
    {
      id: expect.stringMatching(/^topup_[0-9a-f]{32}$/),
      payment_method_id: 'pm_1',
      on_file: false,
      amount: '5000',
      decimals: 3,
      currency: 'USD',
      description: `Top-up of ${payer.hostname}`,
    },
  ])
  expect(await charges()).toEqual([])
  await service.close()
})

test('a service without a sandbox and a card processor charges nothing, and says why', async () => {
  const { call, topUp, charges, payments, service } = await started({})
  const payer = await newPayer(call, await newSeller(call))
  const refused = await topUp(payer, 'pm_card_visa')
  expectProblem(refused, 502, 'processor_failed')
  expect(refused.body.error).toContain('No card processor is configured')
  expect([await charges(), await payments()]).toEqual([[], []])
  await service.close()
})

test('a port that rejects after a charge is called again with the same id, and the value is issued once', async () => {
  const cards = countingCards(async (_, asked) => {
    if (asked < 3) throw new Error('the connection broke')
  })
  const { service, call, payer, topUp, held, payments, charges, errors } = await prepared({ cards })
  const refused = await topUp(payer)
  expectProblem(refused, 502, 'processor_failed')
  expect(refused.body.outcome).toBe('unknown')
  expect(errors[0]).toContain('card 1 could not be sent and stays in the outbox')
  await service.sandbox.advance('5s')
  expect([await held(), (await payments())[0]?.status]).toEqual([0, 'pending'])
  await service.sandbox.advance('10m')
  expect(cards.asked).toHaveLength(3)
  expect(new Set(cards.asked.map(({ id }) => id)).size).toBe(1)
  expect(cards.charged.size).toBe(1)
  expect(await held()).toBe(5)
  expect(await charges()).toMatchObject([{ status: 'sent', attempts: 3, due_at: null }])
  const { body } = await call('GET', `/v4/payments/${refused.body.payment_id}`, { token: payer.token })
  expect(body.status).toBe('posted')
  await expectSoundLedger(call)
  await service.close()
})

test('a charge that turns out declined later fails, and issues nothing', async () => {
  let asked = 0
  const charge = async (): Promise<ChargeResult> => {
    if (++asked === 1) throw new Error('the connection broke')
    return { status: 'declined', reason: 'lost card' }
  }
  const { service, payer, topUp, held, payments } = await prepared({ cards: { refund: never, save: never, charge } })
  expect((await topUp(payer)).body.outcome).toBe('unknown')
  await service.sandbox.advance('10s')
  expect([await held(), await payments()]).toMatchObject([0, [{ status: 'failed', movement_id: null }]])
  await service.close()
})

for (const answer of [undefined, {}, { status: 'perhaps' }, 'succeeded'])
  test(`an invalid answer, such as ${JSON.stringify(answer)}, settles nothing`, async () => {
    const charge = async () => answer as ChargeResult
    const { service, payer, topUp, payments } = await prepared({ cards: { refund: never, save: never, charge } })
    expect((await topUp(payer)).body.outcome).toBe('unknown')
    expect(await payments()).toMatchObject([{ status: 'pending' }])
    await service.close()
  })

test('a port that throws at once settles nothing', async () => {
  const charge = () => {
    throw new Error('not an async function')
  }
  const { service, payer, topUp, payments } = await prepared({ cards: { refund: never, save: never, charge } })
  expect((await topUp(payer)).body.outcome).toBe('unknown')
  expect(await payments()).toMatchObject([{ status: 'pending' }])
  await service.close()
})

test('a charge that takes longer than cardMs is answered as unknown, and settled by a later try', async () => {
  let answers: (() => Promise<void>) | undefined = never
  const cards = countingCards(async () => answers?.())
  const { alarm, ring, rings } = handAlarm()
  const { service, payer, topUp, held } = await prepared({ cards, alarm })
  const topup = topUp(payer)
  await vi.waitUntil(() => rings.some(({ ms }) => ms === 20_000))
  ring(20_000)
  expect((await topup).body.outcome).toBe('unknown')
  answers = undefined
  await service.sandbox.advance('5s')
  expect([await held(), cards.charged.size, cards.asked.length]).toEqual([5, 1, 2])
  await service.close()
})

test('an answer after cardMs does not count next to the later try', async () => {
  const releases: (() => void)[] = []
  const cards = countingCards((_, asked) =>
    asked === 1 ? new Promise((resolve) => releases.push(resolve)) : Promise.resolve(),
  )
  const { alarm, ring } = handAlarm()
  const { service, call, payer, topUp, held } = await prepared({ cards, alarm })
  const topup = topUp(payer)
  await vi.waitUntil(() => releases.length > 0)
  ring(20_000)
  await topup
  await service.sandbox.advance('5s')
  releases[0]?.()
  await service.sandbox.advance('10m')
  expect([await held(), cards.asked.length]).toEqual([5, 2])
  expect((await expectSoundLedger(call)).movements).toBe(1)
  await service.close()
})

test('the service does not touch the charge of a running call, however far the clock moves', async () => {
  const releases: (() => void)[] = []
  const cards = countingCards(() => new Promise((resolve) => releases.push(resolve)))
  const { service, call, payer, topUp, held } = await prepared({ cards })
  const topup = topUp(payer)
  await vi.waitUntil(() => releases.length === 1)
  for (const duration of ['29s', '1s', '10m']) await service.sandbox.advance(duration)
  expect(cards.asked).toHaveLength(1)
  releases[0]?.()
  expect((await topup).status).toBe(201)
  expect([await held(), cards.charged.size]).toEqual([5, 1])
  expect((await expectSoundLedger(call)).movements).toBe(1)
  await service.close()
})

test('20 services over one storage charge an abandoned card once', async () => {
  const { storage, end } = sharedByProcesses(memoryStorage())
  const first = await started({ storage, cards: { charge: never, refund: never, save: never } })
  const payer = await newPayer(first.call, await newSeller(first.call))
  void first.topUp(payer)
  await vi.waitUntil(async () => (await first.charges()).length === 1)
  const cards = countingCards()
  end()
  const others = await Promise.all(Array.from({ length: 20 }, () => started({ storage, cards })))
  await vi.waitUntil(async () => (await first.charges()).length === 0)
  for (const { service } of others) await service.close()
  expect(cards.asked).toHaveLength(1)
  expect(await first.payments()).toMatchObject([{ status: 'posted' }])
  expect(await balanceOf(first.call, payer.token, payer.hostname)).toBe(5)
})

test('the next service finishes a charge with the same id after one ended between charge and issue', async () => {
  const storage = memoryStorage()
  const cards = countingCards((_, asked) => (asked === 1 ? never() : Promise.resolve()))
  const killed = await started({ storage: keptOpen(storage), cards })
  const payer = await newPayer(killed.call, await newSeller(killed.call))
  void killed.topUp(payer)
  await vi.waitUntil(() => cards.charged.size === 1)
  expect(await killed.payments()).toMatchObject([{ status: 'pending', movement_id: null }])
  const later = { now: () => Date.now() + 30_000 }
  const next = await started({ storage: keptOpen(storage), cards, clock: later })
  await vi.waitUntil(async () => (await next.payments())[0]?.status === 'posted')
  expect(await balanceOf(next.call, payer.token, payer.hostname)).toBe(5)
  expect(cards.asked).toHaveLength(2)
  expect(cards.charged.size).toBe(1)
  await next.service.close()
})

test('a snapshot taken while a card is charged settles it where it is restored', async () => {
  const { service, payer, topUp } = await prepared({ cards: { charge: never, refund: never, save: never } })
  void topUp(payer)
  await vi.waitUntil(async () => (await service.sandbox.outbox({ kind: 'card' })).messages.length === 1)
  const snapshot = await service.sandbox.snapshot()
  const cards = countingCards()
  const other = await started({ sandbox: true, cards })
  await other.service.sandbox.restore(snapshot)
  await other.service.sandbox.advance('30s')
  expect(await other.payments()).toMatchObject([{ status: 'posted' }])
  expect(cards.asked).toHaveLength(1)
  await other.service.close()
})

test('a payment stays pending if the storage cannot record its charge, and is settled later', async () => {
  const inner = memoryStorage()
  let failing = false
  const storage: Storage = {
    ...inner,
    write: (body) => (failing ? Promise.reject(new Error('full')) : inner.write(body)),
  }
  const cards = countingCards(async (_, asked) => {
    failing = asked === 1
  })
  const { service, payer, topUp, held, errors } = await prepared({ storage, cards })
  const refused = await topUp(payer)
  expectProblem(refused, 502, 'processor_failed')
  expect(refused.body.outcome).toBe('unknown')
  expect(errors[0]).toContain('could not be recorded')
  failing = false
  await service.sandbox.advance('30s')
  expect([await held(), cards.charged.size, cards.asked.length]).toEqual([5, 1, 2])
  await service.close()
})

test('the service gives up a charge without an answer after days, and its payment fails', async () => {
  const charge = async () => {
    throw new Error('nobody is there')
  }
  const { service, payer, topUp, charges, payments, errors } = await prepared({
    cards: { refund: never, save: never, charge },
  })
  await topUp(payer)
  await service.sandbox.advance('30d')
  expect(await charges()).toMatchObject([{ status: 'failed', attempts: 16, due_at: null }])
  expect(await payments()).toMatchObject([{ status: 'failed', movement_id: null }])
  expect(errors.at(-1)).toContain('is given up')
  await service.close()
})

test('a reset during a charge leaves nothing of it', async () => {
  let release = () => {}
  const cards = countingCards(() => new Promise<void>((resolve) => (release = resolve)))
  const { service, payer, topUp, payments, charges } = await prepared({ cards })
  const topup = topUp(payer)
  await vi.waitUntil(() => cards.asked.length > 0)
  await service.sandbox.reset()
  release()
  await topup
  expect([await payments(), await charges()]).toEqual([[], []])
  await service.close()
})

test('closing waits for a running charge', async () => {
  const storage = memoryStorage()
  let release = () => {}
  const cards = countingCards(() => new Promise<void>((resolve) => (release = resolve)))
  const { service, payer, topUp, payments } = await prepared({ storage: keptOpen(storage), cards })
  const topup = topUp(payer)
  await vi.waitUntil(() => cards.asked.length > 0)
  const closed = service.close()
  release()
  await closed
  expect(await payments()).toMatchObject([{ status: 'posted' }])
  await topup
})

test('an emptied outbox keeps unsettled charges, among many messages', async () => {
  const { service, call, payer, topUp, held, charges } = await prepared({
    cards: countingCards(async (_, asked) => {
      if (asked === 1) throw new Error('the connection broke')
    }),
  })
  await topUp(payer)
  for (let n = 0; n < 3; n++) await call('POST', '/v4/session/code', { body: { email: `ada${n}@example.test` } })
  await service.sandbox.emptyOutbox()
  expect((await service.sandbox.outbox()).messages.map(({ kind }) => kind)).toEqual(['card'])
  await service.sandbox.advance('5s')
  expect(await held()).toBe(5)
  await service.sandbox.emptyOutbox()
  expect(await charges()).toEqual([])
  await service.close()
})

test.each([0, 1, 2, 3, 4, 6, 8, 12])(
  'with %i decimals, a card is charged whole cents, and half a unit or more',
  (decimals) => {
    const one = 10n ** BigInt(decimals)
    // A quantity with fewer decimals has no parts of a cent.
    const cent = decimals > 2 ? one / 100n : 1n
    const half = (one + 1n) / 2n
    expect(isChargeable(half, { decimals })).toBe(true)
    expect(isChargeable(half - cent, { decimals })).toBe(false)
    expect(isChargeable(one + cent, { decimals })).toBe(true)
    for (const part of [cent / 2n, cent / 10n, cent - 1n, 1n].filter((part) => part > 0n && part < cent))
      expect(isChargeable(one + part, { decimals })).toBe(false)
  },
)
