import { ensureUsdc } from '../../../agents/wallets/networks.js'
import { problem } from '../../../base/problem.js'
import type { ServiceContext } from '../../../http/context.js'
import type { Writer } from '../../../storage/storage.js'
import { fundTwin } from '../funds/fund.js'
import { linkWallet } from '../funds/wallets.js'
import { type AccountNames, payeeNamed, twinOwner } from './names.js'
import type { Seed } from './seed-schema.js'

/** A wallet that a seed linked. */
export interface SeededWallet {
  address: string
  hostname: string
  /** In USDC. */
  balance: number
  /** Only of a derived key. */
  private_key?: string
}

export async function plantWallets(
  tx: Writer,
  items: NonNullable<Seed['wallets']>,
  names: AccountNames,
  service: ServiceContext,
): Promise<SeededWallet[]> {
  const made: SeededWallet[] = []
  for (const { hostname: named, private_key, balance = 0, ...whose } of items) {
    const twin = await payeeNamed(tx, await twinOwner(tx, whose, names), named)
    if (!twin) throw problem('twin_unknown', { detail: `The seed links a wallet to "${named}". Add that twin.` })
    const wallet = await linkWallet(tx, { twin: twin.hostname, private_key }, service)
    const { id: dq } = await ensureUsdc(tx, service)
    if (balance !== 0) await fundTwin(tx, twin, { amount: balance, dq }, service)
    const { address, hostname, private_key: derived } = wallet
    made.push({ address, hostname, balance, ...(derived !== undefined && { private_key: derived }) })
  }
  return made
}
