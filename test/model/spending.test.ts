import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { toAmount } from '../../src/money/ledger/amount.js'
import type { Answer } from '../support/api.js'
import { howMuch } from '../support/how-much.js'
import { attacked } from '../support/scenes/attacked.js'
import { addItem, newCart, newItem, payCart } from '../support/scenes/carts.js'
import { purchase } from '../support/scenes/catalog.js'
import { expectSoundLedger } from '../support/scenes/market.js'
import { newSpending } from '../support/scenes/spending.js'
import { useUpstream } from '../support/scenes/upstream.js'

// Each test asks for many pages or calls.
vi.setConfig({ testTimeout: 60_000 })

/** A plain model of a delegate's spending, whatever it pays for and whatever fails. */

const upstream = useUpstream()
const start = attacked()

const DECIMALS = { USD: 3, PTS: 0, G: 6 } as const
type Code = keyof typeof DECIMALS

const code = fc.constantFrom<Code>('USD', 'PTS', 'G')
const units = fc.integer({ min: 1, max: 8 })
const fails = fc.boolean()
/** One thing that a delegate pays for. `of`: the quantity that the call names, if it names one. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('paywall' as const), of: fc.option(code, { nil: undefined }), units, fails }),
  fc.record({ kind: fc.constant('purchase' as const), of: code, fails }),
  fc.record({ kind: fc.constant('cart' as const), of: code, lines: fc.array(fails, { minLength: 1, maxLength: 3 }) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Smallest units that each item costs. */
const PRICE = 2

test('what a delegate paid never exceeds its limit, and what failed can be spent again', async () => {
  const { call, shop, spender, allow, pay, paid, dqs } = await newSpending(start)
  const by = { token: spender.token }
  const items = new Map<string, { id: number }>()
  for (const of of ['USD', 'PTS', 'G'] as const)
    for (const fails of [true, false]) {
      const external_endpoint = `${upstream.url}${fails ? '/status/503' : '/ok'}`
      const fields = { dq: dqs[of], price: toAmount(BigInt(PRICE), DECIMALS[of]), external_endpoint }
      items.set(`${of}${fails}`, await newItem(call, shop, fields))
    }
  const itemOf = (of: Code, fails: boolean) => items.get(`${of}${fails}`) ?? { id: 0 }

  /** Sends a step. Returns what it costs and pays if the delegate allows it. */
  const take = async (persona_delegate: string, limited: Code, step: Step) => {
    const { kind, of = limited } = step
    if (kind === 'paywall') {
      const { units: cost, fails } = step
      const serviceUrl = fails ? `${upstream.url}/status/500` : undefined
      const order = { amount: toAmount(BigInt(cost), DECIMALS[of]), serviceUrl }
      const answer = await pay(persona_delegate, { ...order, ...(step.of && { dq: dqs[of] }) })
      return { of, cost, pays: fails ? 0 : cost, answer }
    }
    if (kind === 'purchase') {
      const answer = await purchase(call, by, itemOf(of, step.fails), { persona_delegate })
      return { of, cost: PRICE, pays: step.fails ? 0 : PRICE, answer }
    }
    const cart = await newCart(call, by)
    for (const fails of step.lines) await addItem(call, by, cart, { catalog_item_id: itemOf(of, fails).id })
    const answer = await payCart(call, by, cart, { persona_delegate })
    return {
      ...{ of, answer, cost: step.lines.length * PRICE },
      pays: step.lines.filter((fails) => !fails).length * PRICE,
    }
  }

  const isRefused = ({ body }: Answer) => body?.code === 'delegate_refused'

  await fc.assert(
    fc.asyncProperty(
      code,
      fc.integer({ min: 1, max: 20 }),
      fc.array(step, { maxLength: 6 }),
      async (limited, limit, steps) => {
        const before = await paid()
        const delegate = await allow(dqs[limited], toAmount(BigInt(limit), DECIMALS[limited]))
        let left = limit
        for (const step of steps) {
          const { of, cost, pays, answer } = await take(delegate, limited, step)
          const isAllowed = of === limited && cost <= left
          expect({ step, isRefused: isRefused(answer) }).toEqual({ step, isRefused: !isAllowed })
          if (isAllowed) left -= pays
        }
        const tooMuch = { kind: 'paywall', of: undefined, units: left + 1, fails: false } as const
        expect(isRefused((await take(delegate, limited, tooMuch)).answer)).toBe(true)
        if (left > 0) expect((await take(delegate, limited, { ...tooMuch, units: left })).answer.status).toBe(200)
        const after = await paid()
        for (const of of ['USD', 'PTS', 'G'] as const) {
          const spent = Math.round(((after[dqs[of]] ?? 0) - (before[dqs[of]] ?? 0)) * 10 ** DECIMALS[of])
          expect([of, spent]).toEqual([of, of === limited ? limit : 0])
        }
      },
    ),
    { numRuns: howMuch(20, 40) },
  )
  await expectSoundLedger(call)
})
