import { newWallet, paymentOf, settle } from '../../../support/scenes/x402.js'
import type { Scenes } from './scene.js'

const extensions = { 'payment-identifier': { info: { required: false, id: 'pay_0123456789abcdef' } } }

/** Refusals of payments that are errors. */
export const x402Scenes = {
  payment_required: {
    provoke: ({ ask, item }) => ({
      request: ask('GET', `/v4/catalog/items/${item.id}/call?city=Oslo`),
      facts: { item: item.id, price: '0.25 USD' },
      says: [`Catalog item ${item.id} costs 0.25 USD`, 'no payment in `PAYMENT-SIGNATURE`'],
      fix: 'none',
    }),
  },
  payment_identifier_mismatch: {
    async provoke({ call, ask }) {
      const account = await newWallet(call, 1)
      await settle(call, await paymentOf(account, { extensions }))
      const body = await paymentOf(account, { extensions, amount: '20000' })
      return {
        request: ask('POST', '/x402/settle', { body }),
        facts: {
          payer: account.address,
          payment: 1,
          amount: '0.01 USDC',
          descriptor: 'https://shop.example.test/report',
        },
        says: [account.address, 'payment 1', '0.01 USDC', 'https://shop.example.test/report'],
        fix: 'none',
      }
    },
  },
} satisfies Scenes
