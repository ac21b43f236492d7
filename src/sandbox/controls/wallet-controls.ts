import { load } from '../../base/parts.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import type { LinkedWallet, WalletOrder } from './funds/wallets.js'
import { WalletOrderShape } from './shapes.js'

export interface Wallets {
  /** Links an address, by whose signatures a twin then pays: `await sandbox.wallets.link({ twin: hostname })`. */
  link(order: WalletOrder): Promise<LinkedWallet>
  /** Lists the addresses that pay from a twin. */
  list(): Promise<LinkedWallet[]>
}

const wallets = () => load(() => import('./funds/wallets.js'))

export const walletControls = (service: ServiceContext): Wallets => ({
  async link(order) {
    const given = checkShape(WalletOrderShape, order)
    const { linkWallet } = await wallets()
    return service.storage.write((tx) => linkWallet(tx, given, service))
  },
  async list() {
    const { listWallets } = await wallets()
    return service.storage.read((tx) => listWallets(tx, service))
  },
})
