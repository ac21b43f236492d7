import { createTwin, type TwinContext, type TwinRow, twins } from '../../money/twins/twin.js'
import type { PayingCaller } from '../../payments/payments/payer.js'
import { getExisting, mapInOrder } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type Address, checksummed } from './evm.js'
import { type WalletRow, wallets } from './wallet-row.js'

/** A twin's content hash begins with `41`. The 40 digits after it are its address in the dialects. */
const addressOfTwin = ({ address }: TwinRow): Address => checksummed(address.slice(2, 42))

/** The address to which a twin is paid: that of its oldest wallet, or the one that its content hash gives. */
export async function payToOf(tx: Reader, twin: TwinRow): Promise<Address> {
  const linked = await tx.find(wallets, { index: 'byTwin', prefix: [twin.id], limit: MOST_LINKED })
  return oldestOfEach(linked).get(twin.id) ?? addressOfTwin(twin)
}

/** The address that was linked first to each twin. Another one that is linked later changes no offer. */
function oldestOfEach(linked: readonly WalletRow[]): ReadonlyMap<number, Address> {
  const newestFirst = linked.toSorted((a, b) => b.linked_at - a.linked_at)
  return new Map(newestFirst.map(({ id, twin_id }) => [twin_id, id]))
}

/** The addresses to which twins are paid, by the id of the twin. In one read, unless very many wallets are linked. */
export async function payToOfEach(tx: Reader, paid: readonly TwinRow[]): Promise<ReadonlyMap<number, Address>> {
  const first = Math.min(...paid.map(({ id }) => id))
  const linked =
    paid.length === 0 ? [] : await tx.find(wallets, { index: 'byTwin', prefix: [], after: [first], limit: MOST_LINKED })
  const oldest = oldestOfEach(linked)
  const known = linked.length < MOST_LINKED
  const pairs = await mapInOrder(paid, async (twin): Promise<[number, Address]> => {
    return [twin.id, known ? (oldest.get(twin.id) ?? addressOfTwin(twin)) : await payToOf(tx, twin)]
  })
  return new Map(pairs)
}

const MOST_LINKED = 1000

/** The twin of an address: the one that it is linked to, or the one whose content hash has it. */
export async function twinOfAddress(tx: Reader, address: Address): Promise<TwinRow | undefined> {
  const wallet = await tx.get(wallets, address)
  if (wallet) return getExisting(tx, twins, wallet.twin_id)
  const digits = `41${address.slice(2).toLowerCase()}`
  const [twin] = await tx.find(twins, { index: 'byAddress', prefix: [], after: [digits], limit: 1 })
  return twin?.address.startsWith(digits) ? twin : undefined
}

/** Creates the twin of an address that no twin has. It belongs to whoever has the key. */
export const createWalletTwin = (
  tx: Writer,
  order: { address: Address; dq: string; at: number },
  context: TwinContext,
) => {
  const { address, dq, at } = order
  const digits = `41${address.slice(2).toLowerCase()}`
  // All 40 digits, because anybody can name an address that begins like another one.
  const hostname = `${digits}.${context.options.twinDomain}`
  const twin = { owner: `wallet:${address}`, dq, at, hostname, address: digits.padEnd(66, '0') } as const
  return createTwin(tx, twin, context)
}

/** As whom an address pays. Undefined: as whoever has the key, from all that its twin holds. */
export async function callerOfAddress(tx: Reader, address: Address): Promise<PayingCaller | undefined> {
  const { party, delegate } = (await tx.get(wallets, address)) ?? {}
  return party && { party, delegate }
}
