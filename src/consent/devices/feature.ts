import { devices } from './device.js'

export const deviceFeature = { collections: [devices] }
