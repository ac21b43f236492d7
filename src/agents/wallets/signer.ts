import type { Problem } from '../../base/problem.js'
import type { ApprovalTerms } from '../../consent/approvals/approval.js'
import { currentGrant } from '../../consent/oidc/token.js'
import { actorOf } from '../../consent/personas/spending.js'
import type { ServiceContext } from '../../http/context.js'
import { type PayingCaller, spendPayer } from '../../payments/payments/payer.js'
import type { Writer } from '../../storage/storage.js'
import { approvedOffer, completeOffer } from '../agents/request.js'
import { checkTransfer, type PayingTransfer, type SignedTransfer } from './transfer.js'
import { callerOfAddress } from './wallet.js'

/** What an app's user approves before it pays more than its threshold. */
export interface SignerApproval {
  readonly terms: ApprovalTerms
  readonly wish: Readonly<Record<string, unknown>>
}

interface Spender {
  /** Of the events. */
  readonly actor: string
  /** Undefined: whoever has the key. */
  readonly caller: PayingCaller | undefined
}

/**
 * Spends what allows the payer to pay: nothing for whoever has the key, a delegate's authority, or an approval. A signature
 * names no approval, so it spends the one that an earlier refusal of the same payment offered, if the app's user has given
 * it. In the transaction that moves the value. Throws `token_invalid` once the app is disconnected, `delegate_refused`, `approval_required`, and what `spendApproval` throws.
 */
export async function spendSigner(
  tx: Writer,
  { authorization }: SignedTransfer,
  { payer, quantity, amount }: PayingTransfer,
  { approval, at }: { approval: () => SignerApproval | Promise<SignerApproval>; at: number },
): Promise<Spender> {
  const caller = await callerOfAddress(tx, authorization.from)
  if (!caller) return { actor: payer.owner, caller: undefined }
  const { party, delegate } = caller
  // A token of a disconnected app is dead. A signature has none.
  if (party.kind === 'agent') await currentGrant(tx, party)
  const approvalId =
    party.kind === 'agent' && delegate === undefined
      ? await approvedOffer(tx, party, (await approval()).terms, at)
      : undefined
  const sums = new Map([[quantity.id, amount]])
  await spendPayer(tx, { ...caller, approvalId, hostname: payer.hostname }, at, () => ({ sums, approval }))
  return { actor: actorOf(party), caller }
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
