import { z } from '../../../http/fields/schema.js'

/** Arguments that more than one tool takes, with the words that agents read. */

const described = <S extends z.ZodMiniType>(schema: S, words: string): S => schema.check(z.describe(words))

export const text = (words: string) => described(z.string(), words)
export const amount = (words: string) => described(z.number().check(z.minimum(0)), words)
export const count = (words: string, { least = 1, most }: { least?: number; most?: number } = {}) =>
  described(z.int().check(z.minimum(least), z.maximum(most ?? Number.MAX_SAFE_INTEGER)), words)

export const itemId = count('The id of the item, as catalog_search gives it.')
export const itemArguments = described(
  z.record(z.string(), z.unknown()),
  'What the item takes: an object that its service_schema describes. None where it takes nothing.',
)
export const cartId = count('The id of the cart, as cart_add gives it.')
export const dq = text('The hash of a digital quantity. Default: that of the wallet.')
export const approvalId = text(
  'The id of an approval that the user gave for exactly this call, as request_approval gave it. Each is good once.',
)
export const limit = count('How many at most. Default 20.', { most: 100 })
