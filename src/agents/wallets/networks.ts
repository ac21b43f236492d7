import type { DialectOptions, TokenNetwork } from '../../base/token-network.js'
import type { ServiceContext } from '../../http/context.js'
import {
  allQuantities,
  type DigitalQuantityRow,
  digitalQuantities,
  type QuantityDefinition,
  quantityHash,
} from '../../money/digital-quantities/digital-quantity.js'
import { createQuantity, type TwinContext } from '../../money/twins/twin.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type Address, addressIn, checksummed, type TokenDomain } from './evm.js'

/** The digital quantity that the token of a network stands for. It exists once somebody is given some of it. */
const USDC: QuantityDefinition = {
  name: 'USD Coin',
  shortcode: 'USDC',
  shortdescription: 'Test dollars of the dialects x402 and MPP, to a millionth.',
  decimals: 6,
}

const isUsdc = ({ shortcode, decimals }: DigitalQuantityRow): boolean =>
  shortcode === USDC.shortcode && decimals === USDC.decimals

export const findUsdc = async (tx: Reader): Promise<DigitalQuantityRow | undefined> =>
  (await tx.get(digitalQuantities, quantityHash(USDC))) ?? (await allQuantities(tx)).find(isUsdc)

/** The digital quantity USDC, which is created at its first use. */
export const ensureUsdc = async (tx: Writer, service: TwinContext & Pick<ServiceContext, 'clock'>) =>
  (await findUsdc(tx)) ?? createQuantity(tx, USDC, service)

/** The token that stands for a digital quantity: the network's own for USDC, and one with an address made of its hash for any other. */
export function tokenOf(quantity: DigitalQuantityRow, { chainId, name, version, asset }: TokenNetwork): TokenDomain {
  const derived = checksummed(quantity.id.slice(2, 42))
  if (!isUsdc(quantity)) return { name: quantity.shortcode, version: '1', chainId, verifyingContract: derived }
  return { name, version, chainId, verifyingContract: addressIn(asset) ?? derived }
}

/** The digital quantity of a token. Undefined if no token of the network has this address. */
export async function quantityOfToken(tx: Reader, token: Address, network: TokenNetwork) {
  // Whoever names a hash must not make its token out of the network's own.
  if (token === addressIn(network.asset)) return findUsdc(tx)
  return (await allQuantities(tx)).find((quantity) => tokenOf(quantity, network).verifyingContract === token)
}

/** A network as a version of x402 names it. */
export const networkNamed = ({ networks }: DialectOptions, name: string, version: 1 | 2): TokenNetwork | undefined =>
  networks.find(({ network, nameV1 }) => name === (version === 2 ? network : nameV1))
