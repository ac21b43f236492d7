import { outbox } from './outbox.js'

export const outboxFeature = {
  collections: [outbox],
}
