import { cartLines, carts } from '../../../market/carts/cart.js'
import { catalogItems } from '../../../market/catalog/item-row.js'
import { type CheckoutChargeRow, checkoutCharges } from '../../../market/checkout/charge.js'
import { type CheckoutRow, checkouts } from '../../../market/checkout/checkout-row.js'
import type { Explainers } from '../facts/explainer.js'
import type { Fix } from '../facts/explanation.js'
import { checkoutIn } from '../facts/price.js'
import { again, askedWait, corrected, first, later, REDACTED, type RefusedRequest } from '../facts/refused-request.js'
import { fittingArguments } from '../facts/samples.js'
import { endText, listText, money, named, ownerText, plural, shownAmount, timeText } from '../facts/words.js'

/** Checkout links, their refunds, and carts. */
export const checkoutExplainers = {
  async checkout_paid(asked) {
    const checkout = await checkoutIn(asked)
    return {
      sentences: [
        await aboutCheckout(asked, checkout),
        ...(checkout?.payer
          ? [
              `${payerText(checkout.payer)} paid it${checkout.receipt_id === null ? '' : `, with the receipt ${checkout.receipt_id}`}.`,
            ]
          : []),
        'A link sells once. Create one for each buyer.',
      ],
      facts: checkoutFacts(checkout),
      fix: newLink(asked, checkout),
    }
  },

  async checkout_expired(asked) {
    const checkout = await checkoutIn(asked)
    return {
      sentences: [
        await aboutCheckout(asked, checkout),
        ...(checkout ? [`It ${endText(checkout.expires_at, asked.at)}.`] : []),
        'A link lasts 24 hours. Create a new one.',
      ],
      facts: checkoutFacts(checkout),
      fix: newLink(asked, checkout),
    }
  },

  async checkout_paying(asked) {
    const checkout = await checkoutIn(asked)
    const wait = askedWait(asked, 5)
    return {
      sentences: [
        await aboutCheckout(asked, checkout),
        checkout?.attempt == null
          ? 'The card processor has not said how its charge ended.'
          : `A payment of it began${checkout.attempt_at === undefined ? '' : ` at ${timeText(checkout.attempt_at)}`}.`,
        `Repeat the request after ${wait} seconds. Nobody pays twice.`,
      ],
      facts: { ...checkoutFacts(checkout), retry_after: wait },
      fix: later(asked, wait),
    }
  },

  async refund_settled(asked) {
    const charge = await asked.tx.get(checkoutCharges, Number(asked.params.id))
    return {
      sentences: [
        `${await aboutRefund(asked, charge)} is ${charge ? `\`${charge.status}\`` : 'not open'}, so nothing is left to settle.`,
        'GET /v4/checkout/refunds lists the open ones.',
      ],
      facts: await chargeFacts(asked, charge),
    }
  },

  async refund_outcome_refused(asked) {
    const charge = await asked.tx.get(checkoutCharges, Number(asked.params.id))
    const outcome = charge?.status === 'unrefunded' ? 'again' : 'returned'
    return {
      sentences: [
        `${await aboutRefund(asked, charge)} is ${charge ? `\`${charge.status}\`` : 'not open'}, its payer is ${charge ? payerText(charge.payer) : 'unknown'}, and the request sent ${JSON.stringify(asked.body.outcome ?? '')}.`,
        ...(charge?.refusal ? [`The processor said: ${charge.refusal}.`] : []),
        outcome === 'again'
          ? 'Try the card again, or return the money yourself.'
          : 'Look the charge up at the card processor, and send `returned` once the payer has the money.',
      ],
      facts: { ...(await chargeFacts(asked, charge)), sent: asked.body.outcome ?? null },
      fix: corrected(asked, { body: { outcome } }),
    }
  },

  async cart_full(asked) {
    const lines = await readCartLines(asked)
    return {
      sentences: [
        `Cart ${asked.params.id} had ${plural(lines.length, 'line')}, and 50 are possible. Create another cart, or send a larger \`quantity\`.`,
      ],
      facts: { cart: Number(asked.params.id), lines: lines.length, most: 50 },
      fix: newCart(asked),
    }
  },

  async cart_empty(asked) {
    const cart = await asked.tx.get(carts, Number(asked.params.id ?? asked.body.cart_id))
    const [item] = await asked.tx.find(catalogItems, { index: 'listed', prefix: [], limit: 1, reverse: true })
    return {
      sentences: [
        `${named('cart', cart?.id ?? asked.params.id)} had no lines at that moment. ${cart?.lines_made ? `${plural(cart.lines_made, 'line')} had been added and removed.` : 'None had ever been added.'}`,
        ...(item ? [`Catalog item ${item.id}, “${item.name}”, is for sale.`] : ['No catalog item is for sale.']),
      ],
      facts: { cart: cart?.id ?? null, lines: 0, lines_made: cart?.lines_made ?? null, item: item?.id ?? null },
      fix:
        item &&
        cart &&
        first(asked, 'addCartItem', {
          method: 'POST',
          path: `/v4/carts/${cart.id}/items`,
          as: asked.entry.principal ?? '',
          body: { catalog_item_id: item.id, arguments: fittingArguments(item.service_schema, {}) },
        }),
    }
  },

  async cart_closed(asked) {
    const cart = await asked.tx.get(carts, Number(asked.params.id ?? asked.body.cart_id))
    const receipts = (await readCartLines(asked)).flatMap((line) => line.receipts)
    return {
      sentences: [
        `${named('cart', cart?.id)} was ${cart?.ordered_at == null ? 'being paid' : `paid at ${timeText(cart.ordered_at)}`}${receipts.length > 0 ? `, with the receipts ${listText(receipts.map(String))}` : ''}.`,
        'A paid cart stays as it is. Create a new one.',
      ],
      facts: {
        cart: cart?.id ?? null,
        ordered_at: cart?.ordered_at == null ? null : timeText(cart.ordered_at),
        receipts,
      },
      fix: newCart(asked),
    }
  },

  async cart_paying(asked) {
    const id = Number(asked.params.id)
    const other = await asked.findEarlier(
      ({ path, id: entry }) => path === asked.entry.path && entry !== asked.entry.id,
    )
    return {
      sentences: [
        `A payment of cart ${id} was on its way${other ? `: ${other.id}, which began at ${timeText(Date.parse(other.at))}` : ''}.`,
        'Read the cart until it is no longer `paying`. It is paid once.',
      ],
      facts: { cart: id, other: other?.id ?? null },
      fix: {
        operation_id: 'readCart',
        example: { method: 'GET', path: `/v4/carts/${id}`, as: asked.entry.principal ?? '' },
        next: null,
      },
    }
  },
} satisfies Explainers

async function aboutCheckout({ tx }: RefusedRequest, checkout: CheckoutRow | undefined): Promise<string> {
  if (!checkout) return 'No checkout has the token of the path any more.'
  const by = checkout.maker === null ? '' : ` of ${await ownerText(tx, checkout.maker)}`
  return `Checkout ${checkout.id}${by} sells “${checkout.name}” for ${await money(tx, checkout.dq, checkout.price)}.`
}

/** A guest is named by a digest of the session, which says nothing to people. */
const payerText = (payer: string): string => (payer.startsWith('guest:') ? 'A guest' : payer)

const checkoutFacts = (checkout: CheckoutRow | undefined) => ({
  checkout: checkout?.id ?? null,
  checkout_status: checkout?.status ?? null,
  item: checkout?.catalog_item_id ?? null,
  payer: checkout?.payer == null ? null : payerText(checkout.payer),
  receipt: checkout?.receipt_id ?? null,
  expires_at: checkout ? timeText(checkout.expires_at) : null,
})

/** The digital quantity of a charge: that of its checkout. */
const quantityOf = async ({ tx }: RefusedRequest, charge: CheckoutChargeRow): Promise<string> =>
  (await tx.get(checkouts, charge.checkout_id))?.dq ?? ''

async function aboutRefund(asked: RefusedRequest, charge: CheckoutChargeRow | undefined): Promise<string> {
  if (!charge) return `The refund ${asked.params.id}`
  return `The refund ${charge.id} of ${await money(asked.tx, await quantityOf(asked, charge), charge.amount)}`
}

const chargeFacts = async (asked: RefusedRequest, charge: CheckoutChargeRow | undefined) => ({
  amount: charge ? await shownAmount(asked.tx, await quantityOf(asked, charge), charge.amount) : null,
  refund_status: charge?.status ?? null,
  payer: charge ? payerText(charge.payer) : null,
  charge_id: charge?.charge_id ?? null,
})

/** Creates another link for the same item, whose token the next request uses. */
function newLink(asked: RefusedRequest, checkout: CheckoutRow | undefined): Fix | undefined {
  if (!checkout) return undefined
  const as = checkout.maker === null ? {} : { as: checkout.maker }
  const body = { catalog_item_id: checkout.catalog_item_id, arguments: checkout.arguments }
  return first(
    asked,
    'createCheckout',
    { method: 'POST', path: '/v4/checkout', ...as, body },
    again(asked, { path: asked.entry.path.replace(REDACTED, '{token}') }),
  )
}

/** Creates another cart, whose id the next request uses. */
const newCart = (asked: RefusedRequest): Fix =>
  first(
    asked,
    'createCart',
    {
      method: 'POST',
      path: '/v4/carts',
      ...(asked.entry.principal !== null && { as: asked.entry.principal }),
      body: {},
    },
    again(asked, { path: asked.entry.path.replace(/carts\/\d+/, 'carts/{id}') }),
  )

const readCartLines = ({ tx, params }: RefusedRequest) =>
  tx.find(cartLines, { index: 'byCart', prefix: [Number(params.id)], limit: 50 })
