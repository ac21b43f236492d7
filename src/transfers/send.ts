import { type Agent, type ApprovalTerms, spendApproval } from '../approvals/approval.js'
import { priceDetail, quotedAddress } from '../approvals/terms.js'
import type { ServiceContext } from '../context.js'
import { type DigitalQuantityRow, quantityOf } from '../digital-quantities/digital-quantity.js'
import { Email, z } from '../http/schema.js'
import { formatAmount, toUnits } from '../ledger/amount.js'
import { balanceOf, spendable } from '../ledger/balance.js'
import { post } from '../ledger/movement.js'
import { isSomebody, type Owner } from '../owner.js'
import { type Problem, problem } from '../problem.js'
import { type AskingSession, askAndWait, type GivenSecondFactor, spendAsked } from '../second-factor/wait.js'
import type { Reader, Writer } from '../storage/storage.js'
import { primaryTwin, type TwinRow, twinByHostname } from '../twins/twin.js'
import { normalEmail, userByEmail } from '../users/user.js'
import { type InvitationContext, invite } from './invitation.js'
import { showTransfer, type TransferRow, tellTransfer, transfers } from './transfer.js'
import { MEMO } from './wording.js'

/** By what right somebody sends: by what a session's user approved on a second device, or an agent's. Owners need nothing by their tokens. */
export type TransferRight =
  | (GivenSecondFactor & { readonly by: 'session' })
  | { readonly by: 'agent'; readonly agent: Agent; readonly approvalId: string | undefined }

export interface TransferOrder {
  readonly sender: Owner
  /** A twin's hostname or URL, or an email. */
  readonly address: string
  /** In the digital quantity. */
  readonly amount: number
  /** That of the sender's primary twin, where absent. */
  readonly dq?: string | undefined
  readonly memo?: string | null | undefined
}

/** What an order comes to. */
interface Plan {
  readonly sender: TwinRow
  readonly quantity: DigitalQuantityRow
  /** Smallest units. */
  readonly amount: bigint
  readonly address: string
  /** Null where the address is an email that no user has. */
  readonly payee: TwinRow | null
  readonly memo: string | null
}

/** Throws `insufficient_funds` (no twin), `dq_unknown`, `amount_invalid`, `field_invalid`, `not_found`, `same_twin`. */
async function planOf(tx: Reader, { sender: owner, ...order }: TransferOrder): Promise<Plan> {
  const sender = await primaryTwin(tx, owner)
  if (!sender) throw problem('insufficient_funds', { detail: 'There is no twin to send from.' })
  const quantity = await quantityOf(tx, order.dq ?? sender.dq)
  const amount = toUnits(order.amount, quantity.decimals)
  if (amount === 0n) throw problem('amount_invalid', { detail: 'It must be more than nothing.' })
  const memo = memoOf(order.memo ?? '')
  const { address, payee } = await resolve(tx, order.address.trim())
  if (payee?.id === sender.id) throw problem('same_twin')
  return { sender, quantity, amount, address, payee, memo }
}

/** Throws `field_invalid`. */
function memoOf(text: string): string | null {
  if (MEMO.test(text)) return text.trim() || null
  throw fieldProblem('memo', 'takes up to 140 characters on one line, none of them a control character')
}

/** The host of an address, with or without scheme, port and path. Runtimes differ in what they take for a URL. */
const HOST = /^(?:https?:\/\/)?([a-z0-9._-]+)(?::\d+)?(?:[/?#].*)?$/i

/** Throws `field_invalid` for what can be no address, `not_found` for that of no wallet. */
async function resolve(tx: Reader, text: string): Promise<Pick<Plan, 'address' | 'payee'>> {
  if (!text.includes('://') && text.includes('@')) return resolveEmail(tx, text)
  const [, host] = HOST.exec(text) ?? []
  if (host === undefined) throw fieldProblem('address', 'must be the hostname or URL of a twin, or an email address')
  const address = host.toLowerCase()
  const payee = await twinByHostname(tx, address)
  if (!payee || !isSomebody(payee.owner)) throw problem('not_found', { detail: 'No wallet has this address.' })
  return { address, payee }
}

async function resolveEmail(tx: Reader, text: string): Promise<Pick<Plan, 'address' | 'payee'>> {
  if (!z.safeParse(Email, text).success)
    throw fieldProblem('address', 'must be an email address, such as ada@example.test')
  const address = normalEmail(text)
  const user = await userByEmail(tx, address)
  return { address, payee: (user && (await primaryTwin(tx, `user:${user.id}`))) ?? null }
}

const fieldProblem = (field: string, what: string): Problem =>
  problem('field_invalid', { detail: `"${field}" ${what}.`, fields: { field } })

/** What an agent's user approves: whom is sent how much. Throws as `planOf`. */
export const transferTerms = async (tx: Reader, order: TransferOrder): Promise<ApprovalTerms> =>
  termsOf(await planOf(tx, order))

function termsOf({ sender, address, amount, quantity, memo }: Plan): ApprovalTerms {
  const value = priceDetail(quantity, amount)
  return {
    kind: 'transfer',
    detail: { from: sender.hostname, payee: address, ...value, memo },
    summary: `Send ${value.price} to ${quotedAddress(address)}`,
  }
}

/** Value leaves the user's own wallet: no threshold is for that. Throws `approval_required`, and what `spendApproval` throws. */
async function permitAgent(
  tx: Writer,
  { agent, approvalId: id }: TransferRight & { by: 'agent' },
  plan: Plan,
  at: number,
): Promise<void> {
  if (id !== undefined) return spendApproval(tx, agent, { id, terms: termsOf(plan), at })
  const { address, amount, quantity, memo } = plan
  const { amount: wished, dq } = priceDetail(quantity, amount)
  const approval = { kind: 'transfer', address, amount: wished, dq, ...(memo !== null && { memo }) }
  throw problem('approval_required', { fields: { approval } })
}

/** Waits until the user has approved the order. Throws as `planOf` and `askAndWait`, and `insufficient_funds` without asking. */
export async function askForTransfer(
  service: ServiceContext,
  order: TransferOrder,
  asking: AskingSession,
): Promise<GivenSecondFactor> {
  const plan = await service.storage.read(async (tx) => {
    const planned = await planOf(tx, order)
    const balance = await balanceOf(tx, planned.sender.id, planned.quantity.id)
    if (spendable(balance) < planned.amount) throw problem('insufficient_funds')
    return planned
  })
  return { ...asking, request: await askAndWait(service, secondFactorOrder(plan, asking)) }
}

const secondFactorOrder = ({ address, amount, quantity, memo }: Plan, asking: AskingSession) => ({
  userId: asking.userId,
  sessionId: asking.sessionId,
  action: 'transfer',
  detail: {
    payee: address,
    amount: formatAmount(amount, quantity.decimals),
    dq: quantity.shortcode,
    ...(memo !== null && { memo }),
  },
})

/**
 * Moves value to a wallet, or holds it for whoever reads an email that no user has.
 * Spends the approval, where one is needed, of exactly this. Throws as `planOf` and `permitAgent`, `insufficient_funds`, `rejected`,
 * `approval_timeout`.
 */
export async function createTransfer(
  tx: Writer,
  { right, at, ...order }: TransferOrder & { readonly right: TransferRight | undefined; readonly at: number },
  service: InvitationContext,
) {
  const plan = await planOf(tx, order)
  if (right?.by === 'session') await spendAsked(tx, right.request, secondFactorOrder(plan, right), at)
  if (right?.by === 'agent') await permitAgent(tx, right, plan, at)
  const { sender, quantity, amount, address, payee, memo } = plan
  const actor = right?.by === 'agent' ? right.agent.client_id : sender.owner
  const what = { sender, dq: quantity.id, amount, memo, actor, at }
  const transfer = payee
    ? await send(tx, { ...what, address, payee })
    : await invite(tx, { ...what, email: address }, service)
  return showTransfer(tx, transfer, at)
}

interface DirectTransfer {
  readonly sender: TwinRow
  readonly payee: TwinRow
  readonly address: string
  readonly dq: string
  readonly amount: bigint
  readonly memo: string | null
  /** Who has it sent: the sender, or an agent of theirs. */
  readonly actor: string
  readonly at: number
}

async function send(
  tx: Writer,
  { sender, payee, address, dq, amount, memo, actor, at }: DirectTransfer,
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
  await tellTransfer(tx, 'completed', transfer, { actor, at })
  return transfer
}
