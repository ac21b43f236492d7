import { accountIdOf, type Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { base64url, digest } from '../../base/secrets.js'
import { isPlainLine, revealInvisibleLine } from '../../base/text/invisible-characters.js'
import { quoted, shownAddress, unlinked } from '../../base/text/quotation.js'
import { isAhead, minuteText, seconds } from '../../base/time.js'
import type { OnSignIn, ServiceContext } from '../../http/context.js'
import { accounts, memberships, sellerName } from '../../identity/accounts/account.js'
import { checkMail, sendMail } from '../../identity/mail/send-mail.js'
import {
  emailOf,
  isProven,
  provenEmailOf,
  provenUserByEmail,
  responsibleFor,
  type UserRow,
  users,
} from '../../identity/users/user.js'
import { recordEvent } from '../../jobs/events/event.js'
import { setTimer, type TimerJob } from '../../jobs/schedule/timer.js'
import { amountText, quantityOf, readQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { hold, postHold, reverseHold } from '../../money/ledger/movement.js'
import { firstTwinOf, type TwinRow, twins } from '../../money/twins/twin.js'
import { countedDaily } from '../../storage/growth.js'
import { getExisting, getOrNotFound, mapInOrder, newestOfAll, type PageBounds, ReadOnce } from '../../storage/page.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/** Kind of the timer that expires an invitation. Its subject is the transfer's id. */
export const TRANSFER_EXPIRES = 'transfer_expires'

/** `invited`: the amount is held until the reader of the email claims it. The other statuses are final. */
type TransferStatus = 'completed' | 'invited' | 'cancelled' | 'expired'

/** Value that someone sends to a wallet or to an email. */
export interface TransferRow {
  readonly id: number
  /** The stored status. Use `transferStatus`, which knows when an invitation has expired. */
  readonly status: TransferStatus
  readonly dq: string
  /** Smallest units. */
  readonly amount: string
  readonly sender_owner: Owner
  readonly sender_twin_id: number
  /** The hostname of a twin, or an email in lower case, as the sender entered it. */
  readonly address: string
  /** Null until someone claims it. */
  readonly recipient_owner: Owner | null
  /** The email whose reader can claim it. Null if nobody can. */
  readonly open_to: string | null
  readonly movement_id: number
  readonly memo: string | null
  /** When the invitation expires. Null for a transfer to a wallet. */
  readonly expires_at: number | null
  /** Digest of the token in the mailed link. */
  readonly link_digest: string | null
  readonly created_at: number
}

export const transfers = collection<TransferRow>()(
  'transfers',
  {
    byEnd: { fields: ['status', 'expires_at'] },
    bySender: { fields: ['sender_owner'] },
    byRecipient: { fields: ['recipient_owner'] },
    byOpenEmail: { fields: ['open_to'] },
    byLink: { fields: ['link_digest'], unique: true },
  },
  {
    refs: { dq: 'digital_quantities', movement_id: 'movements', sender_twin_id: 'twins' },
    secrets: ['link_digest'],
    growth: countedDaily('an account or user, by createTransfer to an email address. One to a twin is a payment'),
    retention: {
      after: 'the last day of an invitation that was cancelled or has expired',
      keepMs: 90 * DAY,
      index: 'byEnd',
      prefixes: [['cancelled'], ['expired']],
      unless: 'it is completed',
    },
  },
)

export const transferStatus = ({ status, expires_at }: TransferRow, at: number): TransferStatus =>
  status === 'invited' && expires_at !== null && expires_at <= at ? 'expired' : status

/** A transfer as both sides see it. Times are Unix seconds, `amount` is in the digital quantity. */
export async function showTransfer(tx: Reader, transfer: TransferRow, at: number) {
  const { id, dq, address, memo, expires_at, created_at } = transfer
  const { hostname } = await getExisting(tx, twins, transfer.sender_twin_id)
  const { decimals } = await quantityOf(tx, dq)
  return {
    id,
    status: transferStatus(transfer, at),
    amount: toAmount(transfer.amount, decimals),
    dq,
    hostname,
    address,
    memo,
    expires_at: expires_at === null ? null : seconds(expires_at),
    created_at: seconds(created_at),
  }
}

/** A transfer that the caller sent, received or can claim. Throws `not_found`. */
async function visibleTransfer(tx: Reader, caller: Owner, id: number): Promise<TransferRow> {
  const transfer = await getOrNotFound(tx, transfers, id)
  const { sender_owner, recipient_owner, open_to } = transfer
  if (sender_owner === caller || recipient_owner === caller) return transfer
  if (open_to === null || open_to !== (await provenEmailOf(tx, caller))) throw problem('not_found')
  return transfer
}

export const readTransfer = async (tx: Reader, caller: Owner, id: number, at: number) =>
  showTransfer(tx, await visibleTransfer(tx, caller, id), at)

/** The transfers that the caller sent, received or can claim, newest first. Throws `cursor_invalid`. */
export async function listTransfers(tx: Reader, caller: Owner, { at, ...page }: PageBounds & { at: number }) {
  const email = await provenEmailOf(tx, caller)
  const sources = [
    { index: 'bySender', prefix: [caller] },
    { index: 'byRecipient', prefix: [caller] },
    ...(email === undefined ? [] : [{ index: 'byOpenEmail', prefix: [email] } as const]),
  ] as const
  const { rows, next } = await newestOfAll(tx, transfers, sources, page)
  const read = new ReadOnce(tx)
  const senders = rows.map(({ sender_twin_id }) => sender_twin_id)
  await read.getMany(twins, senders)
  await readQuantities(read, rows)
  return { transfers: await mapInOrder(rows, (row) => showTransfer(read, row, at)), next }
}

/** Records an event for the sender, and for the recipient if they are a user or account. */
export async function recordTransferEvent(
  tx: Writer,
  act: 'completed' | 'invited' | 'claimed' | 'cancelled' | 'expired',
  transfer: TransferRow,
  { actor, at }: { actor: string; at: number },
): Promise<void> {
  const { id, dq, amount, hostname, address, memo } = await showTransfer(tx, transfer, at)
  const event = { type: `transfer.${act}`, actor, subject: `transfer:${id}`, at } as const
  const recipient = transfer.recipient_owner ?? (await ownerByEmail(tx, address))
  const owners: [Owner, Owner?] = recipient ? [transfer.sender_owner, recipient] : [transfer.sender_owner]
  await recordEvent(tx, { ...event, owners, data: { dq, amount, hostname, address, memo } })
}

async function ownerByEmail(tx: Reader, email: string): Promise<Owner | undefined> {
  const user = await provenUserByEmail(tx, email)
  return user && `user:${user.id}`
}

/** What the recipient reads in the mail and on its page. Nobody can choose the `hostname`, unlike the name of an account. */
export type Invitation = Awaited<ReturnType<typeof invitationOf>>

export async function invitationOf(tx: Reader, transfer: TransferRow) {
  const { sender_owner, sender_twin_id, address: email, memo, expires_at } = transfer
  const { hostname } = await getExisting(tx, twins, sender_twin_id)
  const sender = await senderName(tx, sender_owner)
  return {
    sender: sender ?? hostname,
    hostname,
    amount: await amountText(tx, transfer),
    email,
    memo,
    until: minuteText(required(expires_at, `the end of invitation ${transfer.id}`)),
  }
}

/** An account's name in quotation marks, or a user's proven email. */
async function senderName(tx: Reader, owner: Owner): Promise<string | undefined> {
  const id = accountIdOf(owner)
  if (id === undefined) {
    const email = await provenEmailOf(tx, owner)
    return email && shownAddress(email)
  }
  const account = await tx.get(accounts, id)
  const name = account && sellerName(account)
  return name ? quoted([...name].slice(0, MAX_NAME).join('')) : undefined
}

const MAX_NAME = 80
const MAX_MEMO = 140

/** Whether a text can be a memo: one line of at most 140 visible characters. */
export const isMemo = (text: string): boolean => [...text].length <= MAX_MEMO && isPlainLine(text)

function invitationMail(invitation: Invitation, link: string) {
  const { hostname, amount, memo, until } = invitation
  // An account chooses its own name. Addresses and hostnames are checked.
  const sender = invitation.sender.startsWith('“') ? unlinked(invitation.sender) : invitation.sender
  const text = [
    `${sender} sends you ${amount} from the wallet ${hostname}.`,
    `You can claim it here until ${until}:\n${link}`,
    // Marked like a quotation in mail, so that it cannot pass for our own text.
    ...(memo === null ? [] : [`Their message:\n> ${unlinked(revealInvisibleLine(memo))}`]),
    'If you do not want it, do nothing, and it goes back.',
  ].join('\n\n')
  return { subject: `${sender} sends you ${amount}`, text }
}

const expiredMail = ({ amount, email }: Invitation) => ({
  subject: `${amount} came back to you`,
  text: `${shownAddress(email)} did not claim ${amount} in time. It is back in your wallet.`,
})

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
