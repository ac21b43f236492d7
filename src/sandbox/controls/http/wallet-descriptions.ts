import type { TextsOf } from '../../../http/openapi/texts.js'
import type { walletRoutes } from './routes.js'

export const walletTexts: TextsOf<typeof walletRoutes> = {
  operations: {
    linkWallet:
      'Send exactly one of `twin`, `delegate` and `connection`. Without a key or address, the answer has a key that is derived, the same each time. A given key is never stored. A retry changes nothing more.',
    listWallets: 'Addresses that signed or were funded without a link have twins of their own, and are listed too.',
    listDiscoveryRefusals: 'The last 50. The header `EXTENSION-RESPONSES` of the settlement said so too.',
  },
  fields: {
    twin: 'The hostname of a twin. Whoever has the key can spend all that it holds.',
    delegate: 'The hash of a delegate. Payments spend its authority.',
    connection: "The id of an app's connection. Payments above the threshold of its user need approvals.",
    private_key: 'A test key: `0x` and 64 hex digits.',
    address: 'The address: `0x` and 40 hex digits.',
    wallets: 'The wallets.',
    refusals: 'Payments whose extension `bazaar` could not be listed.',
    resource: 'The URL of the resource. Null if the payment names none.',
    reason: 'Why it was not listed.',
    at: 'When the payment settled.',
  },
  components: {
    LinkedWallet: {
      is: 'An address of x402 and MPP, and the twin that it pays from.',
      address: 'The address, in the case that checks itself (EIP-55).',
      hostname: 'The hostname of the twin.',
      balances: 'What the twin holds, by the hash of the digital quantity.',
      delegate: 'The hash of the delegate whose authority it spends.',
      connection: 'The id of the connection of the app that pays.',
      private_key: 'The private key, if it is derived.',
    },
  },
}
