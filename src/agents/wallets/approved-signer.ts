import type { Problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import type { Writer } from '../../storage/storage.js'
import { approvedOffer, completeOffer } from '../agents/request.js'
import {
  checkTransfer,
  type PayingTransfer,
  type SignedTransfer,
  type SignerApproval,
  type Spender,
  spendSigner,
} from './transfer.js'
import { callerOfAddress } from './wallet.js'

/**
 * Like `spendSigner`. A signature names no approval, so it spends the one that an earlier refusal of the same payment
 * offered, if the app's user has given it.
 */
export async function spendApprovedSigner(
  tx: Writer,
  transfer: SignedTransfer,
  paying: PayingTransfer,
  { approval, at }: { approval: () => SignerApproval; at: number },
): Promise<Spender> {
  const caller = await callerOfAddress(tx, transfer.authorization.from)
  const agent = caller?.delegate === undefined && caller?.party.kind === 'agent' ? caller.party : undefined
  const approvalId = agent && (await approvedOffer(tx, agent, approval().terms, at))
  return spendSigner(tx, transfer, paying, { approval, approvalId, at })
}

/** Adds to `approval_required` the approval that it offers, and where the app's user gives it. */
export const completeSigner = (
  refusal: Problem,
  transfer: SignedTransfer,
  termsOf: (tx: Writer, paying: PayingTransfer) => SignerApproval['terms'] | Promise<SignerApproval['terms']>,
  service: ServiceContext,
): Promise<Problem> =>
  service.storage.write(async (tx) => {
    const paying = await checkTransfer(tx, transfer)
    const caller = await callerOfAddress(tx, transfer.authorization.from)
    if ('refused' in paying || caller?.party.kind !== 'agent') return refusal
    return completeOffer(tx, refusal, { agent: caller.party, terms: await termsOf(tx, paying) }, service)
  })
