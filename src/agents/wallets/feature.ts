import { wallets } from './wallet-row.js'

export const walletFeature = { collections: [wallets] }
