import { describe, expect, test } from 'vitest'
import type { CardCharge, Cards, ChargeResult } from '../../../src/index.js'

export interface CreatedCards {
  readonly cards: Cards
  /** Payment methods that the processor declines for that, or finds itself out of order at: what it does next. */
  readonly names: { readonly expired: string; readonly unavailable: () => string }
  cleanup(): Promise<void>
}

let counted = 0

/** Of 5.00 USD, under an id of its own. */
export const chargeOf = (payment_method_id: string, fields: Partial<CardCharge> = {}): CardCharge => ({
  ...{ id: `topup_${String(++counted).padStart(32, '0')}`, payment_method_id, on_file: false },
  ...{ amount: '5000', decimals: 3, currency: 'USD', description: 'Top-up of ada.twin.localhost', ...fields },
})

export const refundOf = ({ amount, decimals, currency }: CardCharge, charge_id: string) => ({
  ...{ id: `refund_${String(++counted).padStart(32, '0')}`, charge_id, amount, decimals, currency },
})

export const saveOf = (payment_method_id: string) => ({
  id: `save_${String(++counted).padStart(32, '0')}`,
  payment_method_id,
})

const VISA = { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2050 }

/** Fails if the card was not charged. */
export function idOf(result: ChargeResult): string {
  if (result.status !== 'succeeded') throw new Error(`not charged: ${JSON.stringify(result)}`)
  return result.charge_id
}

/** Holds a card processor to the port `Cards` in `src/base/ports.ts`. Every case runs on every processor. */
export function cardsContract(name: string, create: () => Promise<CreatedCards>): void {
  const law = (fact: string, body: (made: CreatedCards) => Promise<void>) =>
    test(fact, async () => {
      const made = await create()
      await body(made).finally(() => made.cleanup())
    })

  describe(`${name} charges`, () => {
    law('a card, and shows of it what its holder knows it by', async ({ cards }) => {
      const result = await cards.charge(chargeOf('pm_card_visa'))
      expect(result).toEqual({ status: 'succeeded', charge_id: expect.stringMatching(/^ch_\w+$/), card: VISA })
      const other = await cards.charge(chargeOf('pm_card_mastercard'))
      expect(other).toMatchObject({ card: { ...VISA, brand: 'mastercard', last4: '4444' } })
    })

    law('once for each id, however often it is called with it', async ({ cards }) => {
      const charge = chargeOf('pm_card_visa')
      const first = await cards.charge(charge)
      for (let n = 0; n < 3; n++) expect(await cards.charge(charge)).toEqual(first)
      expect(idOf(await cards.charge(chargeOf('pm_card_visa')))).not.toBe(idOf(first))
    })

    law('once for two calls at once, of which one may have to be called again', async ({ cards }) => {
      const charge = chargeOf('pm_card_visa')
      const both = await Promise.allSettled([cards.charge(charge), cards.charge(charge)])
      const result = await cards.charge(charge)
      expect(result.status).toBe('succeeded')
      for (const each of both) if (each.status === 'fulfilled') expect(each.value).toEqual(result)
    })

    law('no card that is declined, and says why, however often it is called', async ({ cards, names }) => {
      const declined = {
        pm_card_chargeDeclined: 'declined by the bank',
        pm_card_chargeDeclinedInsufficientFunds: 'insufficient funds',
        [names.expired]: 'expired card',
        pm_of_nobody: 'unknown payment method',
      }
      for (const [method, reason] of Object.entries(declined)) {
        const charge = chargeOf(method)
        for (let n = 0; n < 2; n++) expect(await cards.charge(charge)).toEqual({ status: 'declined', reason })
      }
    })

    law('nothing where it is out of order, nor by a later call with that id', async ({ cards, names }) => {
      const charge = chargeOf(names.unavailable())
      for (let n = 0; n < 2; n++) expect(await cards.charge(charge)).toEqual({ status: 'unavailable' })
    })
  })

  describe(`${name} gives back`, () => {
    law('a charge, once for each id', async ({ cards }) => {
      const charge = chargeOf('pm_card_visa')
      const refund = refundOf(charge, idOf(await cards.charge(charge)))
      const first = await cards.refund(refund)
      expect(first).toEqual({ status: 'refunded', refund_id: expect.stringMatching(/^re_\w+$/) })
      for (let n = 0; n < 3; n++) expect(await cards.refund(refund)).toEqual(first)
    })

    law('each charge by itself', async ({ cards }) => {
      const charges = [chargeOf('pm_card_visa'), chargeOf('pm_card_visa')]
      const refunds = await Promise.all(
        charges.map(async (charge) => cards.refund(refundOf(charge, idOf(await cards.charge(charge))))),
      )
      expect(refunds.map(({ status }) => status)).toEqual(['refunded', 'refunded'])
      expect(new Set(refunds.map((refund) => JSON.stringify(refund))).size).toBe(2)
    })
  })

  describe(`${name} keeps`, () => {
    law('a card that is charged again and again by the name it gives', async ({ cards }) => {
      const saved = await cards.save(saveOf('pm_card_visa'))
      if (saved.status !== 'saved') throw new Error(`not saved: ${JSON.stringify(saved)}`)
      expect(saved.card).toEqual(VISA)
      const results = [1, 2, 3].map(() => cards.charge(chargeOf(saved.payment_method_id, { on_file: true })))
      expect(new Set((await Promise.all(results)).map(idOf)).size).toBe(3)
    })

    law('what it was asked to keep once, for each id', async ({ cards }) => {
      const card = saveOf('pm_card_mastercard')
      const first = await cards.save(card)
      expect(first.status).toBe('saved')
      expect(await cards.save(card)).toEqual(first)
    })

    law('no card that is declined, and says why', async ({ cards, names }) => {
      expect(await cards.save(saveOf(names.expired))).toEqual({ status: 'declined', reason: 'expired card' })
      expect(await cards.save(saveOf('pm_of_nobody'))).toEqual({ status: 'declined', reason: 'unknown payment method' })
    })

    law('a card that is declined only when it is charged', async ({ cards }) => {
      const saved = await cards.save(saveOf('pm_card_chargeCustomerFail'))
      if (saved.status !== 'saved') throw new Error(`not saved: ${JSON.stringify(saved)}`)
      const declined = { status: 'declined', reason: 'declined by the bank' }
      expect(await cards.charge(chargeOf(saved.payment_method_id, { on_file: true }))).toEqual(declined)
    })
  })
}
