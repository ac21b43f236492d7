import { Problem } from '../../base/problem.js'
import type { Maker, ServiceContext } from '../../http/context.js'
import { twins } from '../../money/twins/twin.js'
import type { Writer } from '../../storage/storage.js'
import { ensureUsdc, quantityOfToken } from './networks.js'
import type { SignedTransfer } from './transfer.js'
import { createWalletTwin, twinOfAddress } from './wallet.js'

/** Gives an unknown address that signed a twin that holds nothing, so that it can be funded. None beyond the daily limit. */
export async function welcomeSigner(
  tx: Writer,
  { transfer, source, at }: { transfer: SignedTransfer; source: Maker; at: number },
  service: ServiceContext,
): Promise<void> {
  const { authorization, token, network } = transfer
  const { from: address } = authorization
  if (await twinOfAddress(tx, address)) return
  try {
    await service.rules.countNew(tx, twins.name, source, service)
  } catch (error) {
    if (error instanceof Problem) return
    throw error
  }
  const { id: dq } = (await quantityOfToken(tx, token, network)) ?? (await ensureUsdc(tx, service))
  await createWalletTwin(tx, { address, dq, at }, service)
}
