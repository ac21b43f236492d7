import { idempotency } from './idempotency.js'

export const idempotencyFeature = {
  collections: [idempotency],
}
