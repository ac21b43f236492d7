import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { MAX_UNITS } from '../../src/money/ledger/amount.js'
import {
  balanceOf,
  drawSupply,
  entries,
  hold,
  type MovementOrder,
  movements,
  post,
  postHold,
  postWith,
  releaseSupply,
  reservations,
  reserveSupply,
  reverseHold,
} from '../../src/money/ledger/movement.js'
import type { Writer } from '../../src/storage/storage.js'
import { all } from '../support/scenes/ledger.js'

/** A storage in which twin 1 has issued 100 units to twin 2. */
async function issued() {
  const storage = memoryStorage({ rerun: true })
  const write = <T>(body: (tx: Writer) => Promise<T>): Promise<T> => storage.write(body)
  await write((tx) => post(tx, { ...order, payerTwinId: 1, payeeTwinId: 2, amount: 100n, payerIsIssuer: true }))
  const balance = (twin: number) => storage.read((tx) => balanceOf(tx, twin, 'a'))
  return { write, balance, read: storage.read.bind(storage) }
}

const order: MovementOrder = { kind: 'payment', dq: 'a', amount: 10n, payerTwinId: 2, payeeTwinId: 3, at: 5 }

test('a movement has an amount above zero and two twins, held or not', async () => {
  const { write, read, balance } = await issued()
  for (const move of [post, hold] as const) {
    for (const amount of [0n, -1n])
      await expect(write((tx) => move(tx, { ...order, amount }))).rejects.toThrow('must be above zero')
    await expect(write((tx) => move(tx, { ...order, payeeTwinId: 2 }))).rejects.toMatchObject({ code: 'same_twin' })
    await expect(write((tx) => move(tx, { ...order, amount: 101n }))).rejects.toMatchObject({
      code: 'insufficient_funds',
    })
  }
  expect(await read((tx) => all(tx, movements))).toHaveLength(1)
  expect(await balance(2)).toMatchObject({ amount: '100', held: '0' })
  const posted = await write((tx) => post(tx, { ...order, amount: 100n }))
  expect(posted).toEqual({
    id: posted.id,
    kind: 'payment',
    dq: 'a',
    amount: '100',
    payer_twin_id: 2,
    payee_twin_id: 3,
    state: 'posted',
    created_at: 5,
    settled_at: 5,
    held_at: null,
  })
  expect(
    (await read((tx) => all(tx, entries)))
      .slice(2)
      .map(({ twin_id, counterpart_twin_id, amount, at }) => [twin_id, counterpart_twin_id, amount, at]),
  ).toEqual([
    [2, 3, '-100', 5],
    [3, 2, '100', 5],
  ])
})

test('a movement takes the three numbers that it was given, and no fewer', async () => {
  const { write, balance } = await issued()
  const funds = { payer: await balance(2), payee: await balance(3) }
  await expect(write(async (tx) => postWith(tx, order, funds, []))).rejects.toThrow('needs three numbers')
  await expect(write(async (tx) => postWith(tx, order, funds, [7, 8]))).rejects.toThrow('needs three numbers')
  expect(await write(async (tx) => postWith(tx, order, funds, [7, 8, 9]))).toMatchObject({ id: 7 })
})

test('a hold posts once, to the payee that it names or to who claims it, but never to its payer', async () => {
  const { write, balance } = await issued()
  const open = await write((tx) => hold(tx, { ...order, payeeTwinId: null }))
  expect(open).toMatchObject({ state: 'held', payee_twin_id: null, held_at: 5, settled_at: null })
  await expect(write((tx) => postHold(tx, open.id, 6))).rejects.toThrow(`movement ${open.id} has no payee`)
  await expect(write((tx) => postHold(tx, open.id, 6, 2))).rejects.toMatchObject({ code: 'same_twin' })
  expect(await balance(2)).toMatchObject({ amount: '100', held: '10' })
  expect(await write((tx) => postHold(tx, open.id, 6, 4))).toMatchObject({
    state: 'posted',
    payee_twin_id: 4,
    held_at: null,
    settled_at: 6,
  })
  expect([await balance(2), await balance(4)]).toMatchObject([{ amount: '90', held: '0' }, { amount: '10' }])

  const named = await write((tx) => hold(tx, order))
  expect(await write((tx) => postHold(tx, named.id, 7, 4))).toMatchObject({ payee_twin_id: 3 })
  for (const settle of [postHold, reverseHold] as const) {
    await expect(write((tx) => settle(tx, named.id, 8))).rejects.toThrow(`movement ${named.id} is posted, not held`)
    await expect(write((tx) => settle(tx, 999, 8))).rejects.toThrow('movement 999 is absent, not held')
  }
  expect(await balance(3)).toMatchObject({ amount: '10' })
})

test('a reversed hold gives everything back', async () => {
  const { write, balance } = await issued()
  const { id } = await write((tx) => hold(tx, { ...order, amount: 100n }))
  await expect(write((tx) => post(tx, { ...order, amount: 1n }))).rejects.toMatchObject({ code: 'insufficient_funds' })
  expect(await write((tx) => reverseHold(tx, id, 9))).toMatchObject({ state: 'reversed', held_at: null, settled_at: 9 })
  expect(await balance(2)).toMatchObject({ amount: '100', held: '0' })
})

test('a movement of an imported history keeps its identity', async () => {
  const { write } = await issued()
  expect(await write((tx) => post(tx, { ...order, identity: '41ab' }))).toMatchObject({ identity: '41ab' })
})

test('reserved supply cannot be issued by others, and is drawn in parts until it ends', async () => {
  const { write, read, balance } = await issued()
  const supply = MAX_UNITS - 100n
  const reserve = (paymentId: number, amount: bigint) =>
    write((tx) => reserveSupply(tx, { paymentId, dq: 'a', issuerTwinId: 1, amount, maker: null }))
  await reserve(1, supply - 10n)
  await expect(reserve(2, 11n)).rejects.toMatchObject({ code: 'amount_invalid' })
  const issue = (amount: bigint) => write((tx) => post(tx, { ...order, payerTwinId: 1, amount, payerIsIssuer: true }))
  await expect(issue(11n)).rejects.toMatchObject({ code: 'amount_invalid' })
  await reserve(2, 10n)
  const rows = () => read((tx) => all(tx, reservations))
  expect(await rows()).toEqual([
    { id: 1, dq: 'a', issuer_twin_id: 1, maker: null, amount: String(supply - 10n) },
    { id: 2, dq: 'a', issuer_twin_id: 1, maker: null, amount: '10' },
  ])

  await write((tx) => drawSupply(tx, 2, 4n))
  expect((await rows())[1]).toEqual({ id: 2, dq: 'a', issuer_twin_id: 1, maker: null, amount: '6' })
  expect(await balance(1)).toMatchObject({ reserved: String(supply - 4n) })
  await issue(4n)
  await expect(issue(1n)).rejects.toMatchObject({ code: 'amount_invalid' })
  await write((tx) => drawSupply(tx, 2, 6n))
  expect(await rows()).toHaveLength(1)
  await issue(6n)

  await write((tx) => releaseSupply(tx, 1))
  await write((tx) => releaseSupply(tx, 1))
  expect(await rows()).toEqual([])
  expect(await balance(1)).toMatchObject({ reserved: '0' })
  await issue(supply - 10n)
  await expect(issue(1n)).rejects.toMatchObject({ code: 'amount_invalid' })
})
