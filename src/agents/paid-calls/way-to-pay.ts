import type { TokenNetwork } from '../../base/token-network.js'
import type { DigitalQuantityRow } from '../../money/digital-quantities/digital-quantity.js'
import type { Address } from '../wallets/evm.js'
import { tokenOf } from '../wallets/networks.js'
import type { PaymentOffer } from './dialect.js'

/** How long a client's signature may be valid. */
const TIMEOUT_SECONDS = 300

/** An amount of a digital quantity, in smallest units, and the address that it is paid to. */
interface Due {
  readonly quantity: DigitalQuantityRow
  readonly amount: bigint
  readonly payTo: Address
}

/** How an amount is offered on a network. */
export const offerOn = (network: TokenNetwork, { quantity, amount, payTo }: Due): PaymentOffer => ({
  ...{ network, token: tokenOf(quantity, network), amount, payTo, maxTimeoutSeconds: TIMEOUT_SECONDS },
})

/** The same as version 2 of x402 writes it (specification, section 5.1.2). */
export const wayToPay = ({ network, token, amount, payTo, maxTimeoutSeconds }: PaymentOffer) => ({
  scheme: 'exact',
  network: network.network,
  amount: String(amount),
  asset: token.verifyingContract,
  payTo,
  maxTimeoutSeconds,
  extra: { name: token.name, version: token.version },
})
