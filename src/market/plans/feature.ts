import { subscriptions } from './subscription.js'
import { mcpUsages } from './usage.js'

export const planFeature = { collections: [subscriptions, mcpUsages] }
