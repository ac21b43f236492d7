import { callingAccount } from '../../base/owner.js'
import { hopsIn } from '../../base/via.js'
import type { ServiceContext } from '../../http/context.js'
import { CartShape, IdPath, QuotedLines, z } from '../../http/fields/schema.js'
import { noContent } from '../../http/reply.js'
import { type Call, defineRoutes, ERRORS, route } from '../../http/route.js'
import { type CartPlace, createCart, holderOf, ownCart } from './cart.js'
import { addCartItem, deleteCart, deleteCartItem, payCart, showCart, updateCartItem } from './pay.js'

const LinePath = z.object({ id: z.Id, line: z.int() })

const lineShape = {
  arguments: z.optional(z.record(z.string(), z.unknown())),
  quantity: z.optional(z.int().check(z.minimum(1), z.maximum(99))),
}

const cartRoute = { evidence: 'designed', versions: ['v4'], auth: ['account', 'user', 'agent', 'guest'] } as const
const ofCart = { ...cartRoute, path: '/carts/:id', params: IdPath } as const
const ofLine = { ...cartRoute, path: '/carts/:id/items/:line', params: LinePath, result: CartShape } as const
type CartAuth = (typeof cartRoute)['auth'][number]

const cartPlaceOf = (
  { params, principal, session }: Call<{ id: number }, unknown, unknown, CartAuth>,
  { clock }: Pick<ServiceContext, 'clock'>,
): CartPlace => ({
  id: params.id,
  holder: holderOf(principal, session?.id ?? ''),
  within: callingAccount(principal),
  at: clock.now(),
})

const payRefusals = [
  ...(['sign_in_required', 'not_found', 'not_owner', 'cart_paying', 'cart_empty', 'price_changed'] as const),
  ...(['too_many_hops', 'too_many_calls', 'too_many_new'] as const),
  ...ERRORS.item,
  ...(['parameter_unreadable', 'approval_required', 'approval_not_given', 'approval_mismatch'] as const),
  ...ERRORS.delegate,
  ...(['same_twin', 'insufficient_funds'] as const),
] as const

export const cartRoutes = defineRoutes('carts', {
  createCart: route({
    ...cartRoute,
    summary: 'Create a cart. Only the same session or access token, also after a refresh, can use it.',
    method: 'POST',
    path: '/carts',
    status: 201,
    result: CartShape,
    adds: 'carts',
    idempotent: true,
    async write(tx, { principal, session }, service) {
      const holder = holderOf(principal, session?.id ?? '')
      return showCart(tx, await createCart(tx, { holder, at: service.clock.now() }), service)
    },
  }),
  readCart: route({
    ...ofCart,
    summary: 'Read a cart with the quoted price of each line, and its receipts once it is paid.',
    method: 'GET',
    result: CartShape,
    errors: ['not_found'],
    read: async (tx, call, service) => showCart(tx, await ownCart(tx, cartPlaceOf(call, service)), service),
  }),
  deleteCart: route({
    ...ofCart,
    summary: 'Delete an open cart.',
    method: 'DELETE',
    status: 204,
    errors: ['not_found', 'cart_closed'],
    async write(tx, call, service) {
      await deleteCart(tx, cartPlaceOf(call, service))
      return noContent()
    },
  }),
  addCartItem: route({
    ...cartRoute,
    summary: 'Add a catalog item to a cart at its current price. A quantity of 3 becomes three purchases.',
    method: 'POST',
    path: '/carts/:id/items',
    params: IdPath,
    body: z.object({ catalog_item_id: z.Id, ...lineShape }),
    status: 201,
    result: CartShape,
    errors: ['not_found', 'cart_closed', 'cart_full', ...ERRORS.item],
    idempotent: true,
    async write(tx, call, service) {
      const { catalog_item_id: itemId, arguments: args = {}, quantity = 1 } = call.body
      return showCart(tx, await addCartItem(tx, cartPlaceOf(call, service), { itemId, args, quantity }), service)
    },
  }),
  updateCartItem: route({
    ...ofLine,
    summary: 'Change the quantity or the arguments of a line. Its quoted price stays.',
    method: 'PUT',
    body: z.object(lineShape),
    errors: ['not_found', 'cart_closed', ...ERRORS.item],
    async write(tx, call, service) {
      const { arguments: args, quantity } = call.body
      const cart = await updateCartItem(tx, cartPlaceOf(call, service), call.params.line, { args, quantity })
      return showCart(tx, cart, service)
    },
  }),
  deleteCartItem: route({
    ...ofLine,
    summary: 'Remove a line from a cart.',
    method: 'DELETE',
    errors: ['not_found', 'cart_closed'],
    write: async (tx, call, service) =>
      showCart(tx, await deleteCartItem(tx, cartPlaceOf(call, service), call.params.line), service),
  }),
  payCart: route({
    ...cartRoute,
    summary:
      'Pay for a whole cart or nothing. farthing then fulfils each purchase separately, and posts or reverses it. A paid cart is returned as it is.',
    method: 'POST',
    path: '/carts/:id/pay',
    params: IdPath,
    body: z.object({
      hostname: z.optional(z.Hostname),
      persona_delegate: z.secret(z.optional(z.string())),
      approval_id: z.optional(z.TextId),
      accept_prices: z.optional(z.boolean()),
      lines: z.optional(QuotedLines),
    }),
    bodyOptional: true,
    result: CartShape,
    errors: payRefusals,
    idempotent: true,
    handle(call, service) {
      const { principal: caller, body, headers, storeAnswer } = call
      const { hostname, approval_id: approvalId, persona_delegate: delegate, lines: seen } = body
      const sent = { hostname, approvalId, delegate, seen, acceptPrices: body.accept_prices ?? false }
      const order = { ...sent, place: cartPlaceOf(call, service), caller, hops: hopsIn(headers) }
      return payCart(order, service, storeAnswer)
    },
  }),
})
