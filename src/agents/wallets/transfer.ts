import { digest } from '../../base/secrets.js'
import type { TokenNetwork } from '../../base/token-network.js'
import type { DigitalQuantityRow } from '../../money/digital-quantities/digital-quantity.js'
import { balanceOf, spendable } from '../../money/ledger/movement.js'
import type { TwinRow } from '../../money/twins/twin.js'
import { type PaymentRow, paymentOfNonce, type SpentNonce } from '../../payments/payments/payment.js'
import type { Reader } from '../../storage/storage.js'
import { type Address, addressIn, authorizationHash, type Hex, signerOf, type TransferAuthorization } from './evm.js'
import { quantityOfToken, tokenOf } from './networks.js'
import { twinOfAddress } from './wallet.js'

/** Why a signed transfer does not pay, in the order in which it is checked. Each dialect has its own word for it. */
export type TransferRefusal =
  | 'smart_wallet'
  | 'signature_malformed'
  | 'signature_wrong'
  | 'recipient_differs'
  | 'expired'
  | 'not_yet_valid'
  | 'value_differs'
  | 'token_unknown'
  | 'token_name_differs'
  | 'token_version_differs'
  | 'nonce_used'
  | 'funds_missing'

/** A signed transfer, and what it must pay. */
export interface SignedTransfer {
  readonly authorization: TransferAuthorization
  readonly signature: Hex
  /** The name and version that the payer was told to sign for. */
  readonly domain: { readonly name: string; readonly version: string }
  readonly network: TokenNetwork
  readonly token: Address
  readonly due: { readonly payTo: Address; readonly amount: bigint }
}

/** Blocks of a chain are as far apart: a transfer must be valid for longer. */
const BLOCK_SECONDS = 6n

/** Checks what needs no state, as the reference does. `at`: Unix milliseconds. */
export function signatureRefusal(transfer: SignedTransfer, at: number): TransferRefusal | undefined {
  const { authorization, signature, domain, network, token, due } = transfer
  // Signatures of contracts (ERC-1271, ERC-6492) are longer, and only a chain can check them.
  if (signature.length > 132) return 'smart_wallet'
  if (!/^0x[0-9a-f]{130}$/i.test(signature)) return 'signature_malformed'
  const signed = { ...domain, chainId: network.chainId, verifyingContract: token }
  if (signerOf(authorizationHash(authorization, signed), signature) !== authorization.from) return 'signature_wrong'
  if (authorization.to !== due.payTo) return 'recipient_differs'
  const now = BigInt(Math.floor(at / 1000))
  if (authorization.validBefore < now + BLOCK_SECONDS) return 'expired'
  if (authorization.validAfter > now) return 'not_yet_valid'
  return authorization.value === due.amount ? undefined : 'value_differs'
}

/** A signed transfer that pays: who pays, and in what. */
export interface PayingTransfer {
  readonly payer: TwinRow
  readonly quantity: DigitalQuantityRow
  readonly amount: bigint
  /** For the payment that spends it. */
  readonly spentNonce: SpentNonce
}

/** Checks what needs the state: the token, the nonce and the balance. The earlier payment comes with `nonce_used`. */
export async function checkTransfer(
  tx: Reader,
  transfer: SignedTransfer,
): Promise<PayingTransfer | { readonly refused: TransferRefusal; readonly earlier?: PaymentRow }> {
  const { authorization, domain, network, token } = transfer
  const { from, value: amount, validBefore } = authorization
  const quantity = await quantityOfToken(tx, token, network)
  if (!quantity) return { refused: token === addressIn(network.asset) ? 'funds_missing' : 'token_unknown' }
  const spentNonce = { digest: nonceDigestOf(transfer), expiresAt: millisecondsOf(validBefore) }
  const earlier = await paymentOfNonce(tx, spentNonce.digest)
  if (earlier) return { refused: 'nonce_used', earlier }
  const expected = tokenOf(quantity, network)
  if (expected.name !== domain.name) return { refused: 'token_name_differs' }
  if (expected.version !== domain.version) return { refused: 'token_version_differs' }
  const payer = await twinOfAddress(tx, from)
  if (!payer || spendable(await balanceOf(tx, payer.id, quantity.id)) < amount) return { refused: 'funds_missing' }
  return { payer, quantity, amount, spentNonce }
}

/** A nonce is single-use for its payer, as in the token's contract. */
export const nonceDigestOf = ({ authorization, network, token }: SignedTransfer): string =>
  digest(
    `transfer authorization ${network.chainId} ${token} ${authorization.from} ${authorization.nonce.toLowerCase()}`,
  )

const millisecondsOf = (seconds: bigint): number =>
  seconds > BigInt(Number.MAX_SAFE_INTEGER) / 1000n ? Number.MAX_SAFE_INTEGER : Number(seconds) * 1000

/** The hash of the transaction that a chain would have made of a payment. The same each time. */
export const transactionHash = ({ id, nonce_digest }: Pick<PaymentRow, 'id' | 'nonce_digest'>): Hex =>
  `0x${digest(`transaction of payment ${id} ${nonce_digest}`)}`
