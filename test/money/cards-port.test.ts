import { stripeCards } from '../../adapters/stripe.js'
import { systemAlarm } from '../../src/base/ports.js'
import { testProcessor } from '../../src/money/cards/test-values.js'
import { cardsContract } from '../support/scenes/cards-contract.js'
import { startStripe } from '../support/stripe/stripe-fake.js'

cardsContract('the test processor', async () => ({
  cards: testProcessor({ alarm: systemAlarm }),
  names: { expired: 'pm_card_expired', unavailable: () => 'pm_processor_down' },
  cleanup: async () => {},
}))

for (const [lag, searchLagMs] of Object.entries({ 'at once': 0, 'an hour later': 3_600_000 }))
  cardsContract(`Stripe, whose search sees a charge ${lag},`, async () => {
    const stripe = await startStripe({ searchLagMs })
    return {
      cards: stripeCards(stripe.options),
      names: {
        expired: 'pm_card_chargeDeclinedExpiredCard',
        unavailable() {
          stripe.fail('confirm', 'broken')
          return 'pm_card_visa'
        },
      },
      cleanup: stripe.close,
    }
  })
