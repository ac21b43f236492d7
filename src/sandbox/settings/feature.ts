import { serviceKeys, settings } from './settings.js'

export const settingsFeature = { collections: [settings, serviceKeys] }
