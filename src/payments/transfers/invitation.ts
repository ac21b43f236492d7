import { base64url } from '../../base/encoding.js'
import { accountIdOf, type Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import { isAhead } from '../../base/time.js'
import type { OnSignIn, ServiceContext } from '../../http/context.js'
import { memberships } from '../../identity/accounts/account.js'
import { checkMail, sendMail } from '../../identity/mail/send-mail.js'
import { responsibleFor } from '../../identity/users/responsible.js'
import { emailOf, isProven, type UserRow, users } from '../../identity/users/user.js'
import { setTimer, type TimerJob } from '../../jobs/schedule/timer.js'
import { hold, postHold, reverseHold } from '../../money/ledger/movement.js'
import { firstTwinOf, type TwinRow } from '../../money/twins/twin.js'
import { getExisting } from '../../storage/existing.js'
import type { Reader, Writer } from '../../storage/storage.js'
import {
  expiredMail,
  invitationMail,
  invitationOf,
  recordTransferEvent,
  showTransfer,
  TRANSFER_EXPIRES,
  type TransferRow,
  type TransferStatus,
  transferStatus,
  transfers,
  visibleTransfer,
} from './transfer.js'

const INVITATION_MS = 30 * 86_400_000

export type InvitationContext = Pick<ServiceContext, 'random' | 'baseUrl' | 'rules' | 'limits' | 'clock' | 'sandbox'>

export interface SentValue {
  readonly sender: TwinRow
  readonly dq: string
  readonly amount: bigint
  readonly memo: string | null
  /** The sender, or an agent of theirs. */
  readonly actor: string
  readonly at: number
}

/** Holds the amount and mails the recipient a link. Throws `insufficient_funds`, `too_many_mails`. */
export async function createInvitation(
  tx: Writer,
  { sender, email, dq, amount, memo, actor, at }: SentValue & { readonly email: string },
  service: InvitationContext,
): Promise<TransferRow> {
  const { random, baseUrl } = service
  await service.rules.countNew(tx, transfers.name, { owner: sender.owner }, service)
  await checkMail(tx, { kind: 'invitation', to: email, owner: null, at })
  const held = await hold(tx, { kind: 'transfer', dq, amount, payerTwinId: sender.id, payeeTwinId: null, at })
  const token = base64url(random.bytes(32))
  const expires_at = at + INVITATION_MS
  const transfer: TransferRow = {
    id: await tx.nextId('transfers'),
    status: 'invited',
    dq,
    amount: held.amount,
    sender_owner: sender.owner,
    sender_twin_id: sender.id,
    address: email,
    recipient_owner: null,
    open_to: email,
    movement_id: held.id,
    memo,
    expires_at,
    link_digest: digest(token),
    created_at: at,
  }
  tx.put(transfers, transfer)
  await setTimer(tx, { kind: TRANSFER_EXPIRES, subject: String(transfer.id), at: expires_at, now: at })
  const mail = invitationMail(await invitationOf(tx, transfer), `${baseUrl}/transfers/${token}`)
  const causer = await responsibleFor(tx, sender.owner)
  const told = { kind: 'invitation', to: email, owner: null, causer, ownLinks: baseUrl, staleAt: expires_at } as const
  await sendMail(tx, { ...told, ...mail, at })
  await recordTransferEvent(tx, 'invited', transfer, { actor, at })
  return transfer
}

/** Gives the held amount to the user who has proven the invited email. Throws `not_invited` for the sender. */
export async function claimTransfer(tx: Writer, userId: number, id: number, at: number) {
  const user = await getExisting(tx, users, userId)
  const transfer = await tx.get(transfers, id)
  const owner: Owner = `user:${userId}`
  // One answer for every id, so that it does not reveal whether the email has an invitation.
  const notFound = () => problem('not_found', isProven(user) ? {} : { detail: EMAIL_UNPROVEN })
  if (!transfer) throw notFound()
  const isInvited = isProven(user) && transfer.address === user.email
  if (!isInvited && transfer.recipient_owner !== owner)
    throw transfer.sender_owner === owner ? problem('not_invited') : notFound()
  const status = transferStatus(transfer, at)
  if (status === 'expired') throw problem('transfer_expired')
  if (status !== 'invited') throw problem('transfer_settled')
  return showTransfer(tx, await completeTransfer(tx, transfer, user, at), at)
}

const EMAIL_UNPROVEN =
  'Your email is not proven. Sign in with a mailed code to get what was sent to it: POST /v4/session/code, then /v4/session/verify.'

/** Limit per sign-in. The next sign-in claims the rest. */
const MAX_CLAIMED = 1000

/** Gives a user who signs in every amount that was sent to their email. */
export const claimInvitations: OnSignIn = async (tx, { userId, email, at }) => {
  const waiting = await tx.find(transfers, { index: 'byOpenEmail', prefix: [email], limit: MAX_CLAIMED })
  for (const transfer of waiting)
    if (transferStatus(transfer, at) === 'invited') await completeTransfer(tx, transfer, { id: userId }, at)
}

async function completeTransfer(tx: Writer, transfer: TransferRow, { id }: Pick<UserRow, 'id'>, at: number) {
  const owner: Owner = `user:${id}`
  const twin = await firstTwinOf(tx, owner)
  await postHold(tx, transfer.movement_id, at, twin.id)
  const claimed = closeInvitation(tx, { ...transfer, recipient_owner: owner }, 'completed')
  await recordTransferEvent(tx, 'claimed', claimed, { actor: owner, at })
  return claimed
}

/** Cancels an invitation of the caller. Throws `not_found`, `not_owner` for its recipient, `transfer_settled`. */
export async function cancelTransfer(tx: Writer, caller: Owner, id: number, at: number) {
  const transfer = await visibleTransfer(tx, caller, id)
  if (transfer.sender_owner !== caller) throw problem('not_owner')
  if (transferStatus(transfer, at) !== 'invited') throw problem('transfer_settled')
  await reverseHold(tx, transfer.movement_id, at)
  const cancelled = closeInvitation(tx, transfer, 'cancelled')
  await recordTransferEvent(tx, 'cancelled', cancelled, { actor: caller, at })
  return showTransfer(tx, cancelled, at)
}

/** Returns an unclaimed amount to its sender, and mails them. */
export const expireTransfer: TimerJob = async (tx, subject, { clock }) => {
  const at = clock.now()
  const transfer = await tx.get(transfers, Number(subject))
  if (transfer?.status !== 'invited') return
  const { created_at, expires_at } = transfer
  // The clock was moved, and this timer with it.
  if (expires_at !== null && expires_at > at && !isAhead(created_at, at))
    return void (await setTimer(tx, { kind: TRANSFER_EXPIRES, subject, at: expires_at, now: at }))
  await reverseHold(tx, transfer.movement_id, at)
  const expired = closeInvitation(tx, transfer, 'expired')
  await recordTransferEvent(tx, 'expired', expired, { actor: 'service', at })
  const mail = expiredMail(await invitationOf(tx, expired))
  for (const to of await emailsOf(tx, expired.sender_owner))
    await sendMail(tx, { kind: 'invitation_expired', to, owner: expired.sender_owner, ...mail, at })
}

function closeInvitation(tx: Writer, transfer: TransferRow, status: TransferStatus): TransferRow {
  const settled: TransferRow = { ...transfer, status, open_to: null }
  tx.put(transfers, settled)
  return settled
}

async function emailsOf(tx: Reader, owner: Owner): Promise<string[]> {
  const id = accountIdOf(owner)
  const members = id === undefined ? [] : await tx.find(memberships, { index: 'byAccount', prefix: [id], limit: 100 })
  const emails = [await emailOf(tx, owner)]
  for (const { user_id } of members) emails.push(await emailOf(tx, `user:${user_id}`))
  return emails.filter((email) => email !== undefined)
}
