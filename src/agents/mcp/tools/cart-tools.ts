import { CartShape, QuotedLines, z } from '../../../http/fields/schema.js'
import { type CartPlace, carts, createCart, holderOf, ownCart } from '../../../market/carts/cart.js'
import { addCartItem, deleteCartItem, payCart, showCart } from '../../../market/carts/pay.js'
import { givenApproval } from './given-approval.js'
import { countSales } from './sales.js'
import { approvalId, cartId, count, itemArguments, itemId, type ToolCall, tool } from './tool.js'

const cartPlace = (id: number, { agent, within, service }: ToolCall): CartPlace => ({
  ...{ id, holder: holderOf(agent, ''), within },
  at: service.clock.now(),
})

const cartAdd = tool({
  name: 'cart_add',
  title: 'Add to a cart',
  description:
    'Add an item to a cart, to pay for many items with one approval. Without cart_id, this creates a new cart. Nothing is charged yet. Only you can see your carts.',
  input: z.object({
    cart_id: z.optional(cartId),
    catalog_item_id: itemId,
    arguments: z.optional(itemArguments),
    quantity: z.optional(count('How many times to buy it with these arguments. Default 1.', { most: 99 })),
  }),
  output: CartShape,
  call: ({ cart_id, catalog_item_id: itemId, arguments: args = {}, quantity = 1 }, call) =>
    call.service.storage.write(async (tx) => {
      const holder = holderOf(call.agent, '')
      if (cart_id === undefined)
        await call.service.rules.countNew(tx, carts.name, { owner: call.agent.owner }, call.service)
      const id = cart_id ?? (await createCart(tx, { holder, at: call.service.clock.now() })).id
      return showCart(tx, await addCartItem(tx, cartPlace(id, call), { itemId, args, quantity }), call.service)
    }),
})

const cartView = tool({
  name: 'cart_view',
  title: 'Read a cart',
  description: 'Read a cart with its lines, its totals by digital quantity and, once it is paid, its receipts.',
  input: z.object({ cart_id: cartId }),
  output: CartShape,
  hints: { reads: true },
  call: ({ cart_id }, call) =>
    call.service.storage.read(async (tx) => showCart(tx, await ownCart(tx, cartPlace(cart_id, call)), call.service)),
})

const cartRemove = tool({
  name: 'cart_remove',
  title: 'Remove from a cart',
  description: 'Remove one line from a cart that is not paid yet.',
  input: z.object({ cart_id: cartId, line: count('The number of the line, as the cart shows it.') }),
  output: CartShape,
  call: ({ cart_id, line }, call) =>
    call.service.storage.write(async (tx) =>
      showCart(tx, await deleteCartItem(tx, cartPlace(cart_id, call), line), call.service),
    ),
})

const cartPay = tool({
  name: 'cart_pay',
  title: 'Pay for a cart',
  description:
    'Pay for a whole cart from your wallet, or for nothing of it. Then each line is delivered and paid separately. The user must approve a cart above their approval_threshold. Without approval, this returns the arguments for request_approval. Calling it again for a paid cart charges nothing.',
  input: z.object({
    cart_id: cartId,
    approval_id: z.optional(approvalId),
    accept_prices: z.optional(z.boolean().check(z.describe('Pay the current prices instead of the quoted ones.'))),
    lines: z.optional(
      QuotedLines.check(
        z.describe('The lines you saw, as cart_view shows them. If they or a price changed, nothing is bought.'),
      ),
    ),
  }),
  output: CartShape,
  hints: { spends: true, repeats: true, reachesOut: true },
  async call({ cart_id, approval_id, accept_prices: acceptPrices = false, lines: seen }, call) {
    const { agent, service, hops } = call
    const approvalId = await givenApproval(call, approval_id)
    const how = { hostname: undefined, approvalId, delegate: undefined, acceptPrices, seen, hops }
    return payCart({ place: cartPlace(cart_id, call), caller: agent, ...how, admit: countSales(call) }, service)
  },
})

export default [cartAdd, cartView, cartRemove, cartPay]
