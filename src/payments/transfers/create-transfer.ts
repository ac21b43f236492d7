import { problem } from '../../base/problem.js'
import {
  type ApprovedSecondFactor,
  awaitSecondFactor,
  spendAwaited,
  type UserSession,
} from '../../consent/second-factor/await-second-factor.js'
import type { ServiceContext } from '../../http/context.js'
import { checkMail } from '../../identity/mail/send-mail.js'
import { formatAmount } from '../../money/ledger/amount.js'
import { balanceOf, spendable } from '../../money/ledger/balance.js'
import { post } from '../../money/ledger/movement.js'
import type { TwinRow } from '../../money/twins/twin.js'
import type { Writer } from '../../storage/storage.js'
import { type AgentRight, spendAgentApproval } from './approval.js'
import { createInvitation, type InvitationContext, type SentValue } from './invitation.js'
import { planTransfer, type TransferOrder, type TransferPlan } from './plan.js'
import { recordTransferEvent, showTransfer, type TransferRow, transfers } from './transfer.js'

/** What allows a transfer: a session's second factor, or an agent's approval. Calls with an owner's token need neither. */
export type TransferRight = (ApprovedSecondFactor & { readonly by: 'session' }) | AgentRight

/** Waits until the user approves the order. Throws like `planTransfer` and `awaitSecondFactor`, and `insufficient_funds` before it asks. */
export async function awaitTransferApproval(
  service: ServiceContext,
  order: TransferOrder,
  session: UserSession,
): Promise<ApprovedSecondFactor> {
  const plan = await service.storage.read(async (tx) => {
    const planned = await planTransfer(tx, order)
    const balance = await balanceOf(tx, planned.sender.id, planned.quantity.id)
    if (spendable(balance) < planned.amount) throw problem('insufficient_funds')
    if (!planned.payee)
      await checkMail(tx, { kind: 'invitation', to: planned.address, owner: null, at: service.clock.now() })
    return planned
  })
  return { ...session, request: await awaitSecondFactor(service, secondFactorOrder(plan, session)) }
}

const secondFactorOrder = ({ address, amount, quantity, memo }: TransferPlan, session: UserSession) => ({
  userId: session.userId,
  sessionId: session.sessionId,
  action: 'transfer',
  detail: {
    payee: address,
    amount: formatAmount(amount, quantity.decimals),
    dq: quantity.shortcode,
    ...(memo !== null && { memo }),
  },
})

/**
 * Sends value to a wallet, or holds it and invites the reader of an email that no user has proven. Spends the approval or the
 * second factor of exactly this transfer. Throws like `planTransfer` and `spendAgentApproval`, and `insufficient_funds`, `rejected`,
 * `approval_timeout`.
 */
export async function createTransfer(
  tx: Writer,
  { right, at, ...order }: TransferOrder & { readonly right: TransferRight | undefined; readonly at: number },
  service: InvitationContext,
) {
  const plan = await planTransfer(tx, order)
  if (right?.by === 'session') await spendAwaited(tx, right.request, secondFactorOrder(plan, right), at)
  if (right?.by === 'agent') await spendAgentApproval(tx, right, plan, at)
  const { sender, quantity, amount, address, payee, memo } = plan
  const actor = right?.by === 'agent' ? right.agent.client_id : sender.owner
  const what = { sender, dq: quantity.id, amount, memo, actor, at }
  const transfer = payee
    ? await sendToTwin(tx, { ...what, address, payee })
    : await createInvitation(tx, { ...what, email: address }, service)
  return showTransfer(tx, transfer, at)
}

async function sendToTwin(
  tx: Writer,
  { sender, payee, address, dq, amount, memo, actor, at }: SentValue & { payee: TwinRow; address: string },
): Promise<TransferRow> {
  const movement = await post(tx, {
    ...{ kind: 'transfer', dq, amount, at },
    payerTwinId: sender.id,
    payeeTwinId: payee.id,
  })
  const transfer: TransferRow = {
    id: await tx.nextId('transfers'),
    status: 'completed',
    dq,
    amount: movement.amount,
    sender_owner: sender.owner,
    sender_twin_id: sender.id,
    address,
    recipient_owner: payee.owner,
    open_to: null,
    movement_id: movement.id,
    memo,
    expires_at: null,
    link_digest: null,
    created_at: at,
  }
  tx.put(transfers, transfer)
  await recordTransferEvent(tx, 'completed', transfer, { actor, at })
  return transfer
}
