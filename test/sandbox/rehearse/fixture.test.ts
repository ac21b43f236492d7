import { client } from 'farthing/client'
import { farthingTest } from 'farthing/vitest'
import { describe, expect } from 'vitest'
import { paid, plainClient, retried } from './shop.js'

const test = farthingTest({
  seed: {
    accounts: [{ name: 'News' }],
    users: [{ email: 'reader@example.test', balance: 5 }],
    commodities: [{ account: 'News', descriptor: 'NEWS.ARTICLE', cost: 0.25 }],
  },
})
const options = { slowMs: 20, runs: 12 }

describe('the fixture of Vitest', () => {
  test('passes an application that pays once', async ({ rehearse, seeded }) => {
    const [reader] = seeded.users
    const [{ hash }] = seeded.commodities
    const { runs } = await rehearse(async (service) => {
      const { cost } = await client(service).as(reader).commodities.read(hash)
      await client(service).as(reader).payments.create(hash, { cost })
    }, options)
    expect(runs).toBe(12)
  })

  test('fails with the report for one that pays twice, and leaves its service alone', async ({
    rehearse,
    seeded,
    sandbox,
  }) => {
    const [{ hash }] = seeded.commodities
    const rehearsing = rehearse(async (service) => {
      const shop = await plainClient(service)
      const cost = await shop.price(hash)
      return paid(await retried(() => shop.pay(hash, { cost })))
    }, options)
    await expect(rehearsing).rejects.toThrow(
      /^paid twice\n {2}2 calls, 2 payments, 1 delivered: when call 1 of createPayment works/,
    )
    expect((await sandbox.rows('payments')).rows).toEqual([])
  })

  test('refuses a run that fails without faults', async ({ rehearse }) => {
    const failing = () => Promise.reject(new Error('no shop'))
    await expect(rehearse(failing)).rejects.toThrow('It fails without faults: no shop')
  })
})
