import { canSpend, type Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { normalEmail } from '../../base/text/email.js'
import { quotedAddress } from '../../base/text/quotation.js'
import { type Agent, type ApprovalTerms, spendApproval } from '../../consent/approvals/approval.js'
import { priceDetail } from '../../consent/approvals/price-detail.js'
import {
  type ApprovedSecondFactor,
  awaitSecondFactor,
  spendAwaited,
  type UserSession,
} from '../../consent/second-factor/await-second-factor.js'
import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { Email, z } from '../../http/fields/schema.js'
import { checkMail } from '../../identity/mail/send-mail.js'
import { emailOf, provenUserByEmail } from '../../identity/users/user.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText, toUnits } from '../../money/ledger/amount.js'
import { balanceOf, post, spendable } from '../../money/ledger/movement.js'
import { primaryTwin, type TwinRow, twinNamed, twinNameIn } from '../../money/twins/twin.js'
import type { Reader, Writer } from '../../storage/storage.js'
import {
  createInvitation,
  type InvitationContext,
  isMemo,
  recordTransferEvent,
  type SentValue,
  showTransfer,
  type TransferRow,
  transfers,
} from './transfer.js'

/** What allows a transfer: a session's second factor, or an agent's approval. Calls with an owner's token need neither. */
export type TransferRight = (ApprovedSecondFactor & { readonly by: 'session' }) | AgentRight

/** Waits until the user approves the order. Throws `insufficient_funds` before it asks. */
export async function awaitTransferApproval(service: ServiceContext, order: TransferOrder, session: UserSession) {
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

const secondFactorOrder = ({ address, amount, quantity, memo }: TransferPlan, { userId, sessionId }: UserSession) => {
  const value = { amount: moneyText(amount, quantity) }
  return { userId, sessionId, action: 'transfer', detail: { payee: address, ...value, ...(memo !== null && { memo }) } }
}

/** Sends value to a wallet, or invites the reader of an unproven email. Spends the right to exactly this transfer. */
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
  const movement = await post(tx, { kind: 'transfer', dq, amount, payerTwinId: sender.id, payeeTwinId: payee.id, at })
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

interface TransferOrder {
  readonly sender: Owner
  /** A twin's hostname, address or URL, or an email. */
  readonly address: string
  /** In the digital quantity. */
  readonly amount: number
  /** Default: the digital quantity of the sender's primary twin. */
  readonly dq?: string | undefined
  readonly memo?: string | null | undefined
}

interface TransferPlan {
  readonly sender: TwinRow
  readonly quantity: DigitalQuantityRow
  /** Smallest units. */
  readonly amount: bigint
  /** The payee's hostname, or an email. */
  readonly address: string
  /** Null if the address is an email that no user has proven. */
  readonly payee: TwinRow | null
  readonly memo: string | null
}

/** Checks an order. Throws `insufficient_funds` (no twin), `dq_unknown`, `amount_invalid`, `field_invalid`, `not_found`, `same_twin`. */
async function planTransfer(tx: Reader, { sender: owner, ...order }: TransferOrder): Promise<TransferPlan> {
  const sender = await primaryTwin(tx, owner)
  if (!sender) throw problem('insufficient_funds', { detail: 'You have no twin to send from.' })
  const quantity = await quantityOf(tx, order.dq ?? sender.dq)
  const amount = toUnits(order.amount, quantity.decimals)
  if (amount === 0n) throw problem('amount_invalid', { detail: '`amount` must be above zero.' })
  const memo = memoOf(order.memo ?? '')
  const { address, payee } = await resolveAddress(tx, order.address)
  // A sender with an unproven email could invite themselves.
  if (payee?.id === sender.id || (!payee && address === (await emailOf(tx, owner)))) throw problem('same_twin')
  return { sender, quantity, amount, address, payee, memo }
}

function memoOf(text: string): string | null {
  if (isMemo(text)) return text.trim() || null
  throw fieldRefused('memo', 'must be one line of at most 140 characters, without control characters')
}

async function resolveAddress(tx: Reader, sent: string): Promise<Pick<TransferPlan, 'address' | 'payee'>> {
  const text = sent.trim()
  if (!text.includes('://') && text.includes('@')) return resolveEmail(tx, sent)
  if (twinNameIn(text) === undefined)
    throw fieldRefused('address', "must be a twin's hostname, address or URL, or an email address")
  const payee = await twinNamed(tx, text)
  if (!payee || !canSpend(payee.owner)) throw problem('not_found', { detail: 'No wallet has this address.' })
  return { address: payee.hostname, payee }
}

async function resolveEmail(tx: Reader, text: string): Promise<Pick<TransferPlan, 'address' | 'payee'>> {
  if (!z.safeParse(Email, text).success)
    throw fieldRefused('address', 'must be an email address such as ada@example.test')
  const address = normalEmail(text)
  const reader = await provenUserByEmail(tx, address)
  return { address, payee: (reader && (await primaryTwin(tx, `user:${reader.id}`))) ?? null }
}

interface AgentRight {
  readonly by: 'agent'
  readonly agent: Agent
  readonly approvalId: string | undefined
}

function termsOf({ sender, address, amount, quantity, memo }: TransferPlan): ApprovalTerms {
  const value = priceDetail(quantity, amount)
  return {
    kind: 'transfer',
    detail: { from: sender.hostname, payee: address, ...value, memo },
    summary: `Send ${value.price} to ${quotedAddress(address)}`,
  }
}

/** What an agent's user approves: the payee and the amount. Throws like `planTransfer`. */
export const transferTerms = async (tx: Reader, order: TransferOrder): Promise<ApprovalTerms> =>
  termsOf(await planTransfer(tx, order))

/** Spends an agent's approval. No threshold applies, because value leaves the user's own wallet. */
async function spendAgentApproval(tx: Writer, { agent, approvalId: id }: AgentRight, plan: TransferPlan, at: number) {
  if (id !== undefined) return spendApproval(tx, agent, { id, terms: termsOf(plan), at })
  const { address, amount, quantity, memo } = plan
  const { amount: wished, dq } = priceDetail(quantity, amount)
  const approval = { kind: 'transfer', address, amount: wished, dq, ...(memo !== null && { memo }) }
  throw problem('approval_required', { fields: { approval } })
}
