import { z } from '../../../http/fields/schema.js'

/** Arguments that several tools have, with descriptions for agents. */

const described = <S extends z.ZodMiniType>(schema: S, words: string): S => schema.check(z.describe(words))

export const text = (words: string) => described(z.string(), words)
export const amount = (words: string) => described(z.number().check(z.minimum(0)), words)
export const count = (words: string, { least = 1, most }: { least?: number; most?: number } = {}) =>
  described(z.int().check(z.minimum(least), z.maximum(most ?? Number.MAX_SAFE_INTEGER)), words)

export const itemId = count('The id of the item, from catalog_search.')
export const itemArguments = described(
  z.record(z.string(), z.unknown()),
  "Arguments that match the item's service_schema. Leave them out if it needs none.",
)
export const cartId = count('The id of the cart, from cart_add.')
export const dq = text('The hash of a digital quantity. Default: that of the wallet.')
export const approvalId = text('The id of an approval for exactly this call, from request_approval. Each works once.')
export const limit = count('The most to return. Default 20.', { most: 100 })
