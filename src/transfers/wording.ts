import { accounts, sellerName } from '../accounts/account.js'
import { quantityOf } from '../digital-quantities/digital-quantity.js'
import { formatAmount } from '../ledger/amount.js'
import { accountIdOf, type Owner } from '../owner.js'
import type { Reader } from '../storage/storage.js'
import { type TwinRow, twins } from '../twins/twin.js'
import { provenEmailOf } from '../users/user.js'
import type { TransferRow } from './transfer.js'

/** What the invited are told, by mail and on the page that it links to. */
export interface Invitation {
  /** The name of the account, in quotation marks, or the proven email of the user; else the wallet. */
  readonly sender: string
  /** The sender's wallet, which nobody can call themselves. */
  readonly hostname: string
  /** With the shortcode of the digital quantity. */
  readonly amount: string
  readonly email: string
  readonly memo: string | null
  /** In UTC, to the minute. */
  readonly until: string
}

export async function invitationOf(tx: Reader, transfer: TransferRow): Promise<Invitation> {
  const { sender_owner, sender_twin_id, address: email, memo, expires_at } = transfer
  const { hostname } = (await tx.get(twins, sender_twin_id)) as TwinRow
  const sender = await nameOf(tx, sender_owner)
  return {
    sender: sender ?? hostname,
    hostname,
    amount: await amountText(tx, transfer),
    email,
    memo,
    until: minuteText(expires_at as number),
  }
}

/** An amount as people read it: `2.500 USD`. */
export async function amountText(tx: Reader, { dq, amount }: { dq: string; amount: string | bigint }): Promise<string> {
  const { decimals, shortcode } = await quantityOf(tx, dq)
  return `${formatAmount(amount, decimals)} ${shortcode}`
}

async function nameOf(tx: Reader, owner: Owner): Promise<string | undefined> {
  const id = accountIdOf(owner)
  if (id === undefined) return provenEmailOf(tx, owner)
  const account = await tx.get(accounts, id)
  const name = account && sellerName(account)
  return name ? quotedName(name) : undefined
}

const minuteText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** What can make text of others look like another line, or run against its own order. */
const CONTROLS = '\\p{Cc}\\p{Zl}\\p{Zp}\\u202a-\\u202e\\u2066-\\u2069'

/** Up to 140 characters of one line. */
export const MEMO = new RegExp(`^[^${CONTROLS}]{0,140}$`, 'u')

const NAME_CHARACTERS = 80

/** Accounts call themselves what they like: in a sentence of ours, it is seen where that ends. */
function quotedName(name: string): string {
  const line = name.replace(new RegExp(`[\\s${CONTROLS}]+`, 'gu'), ' ').replace(/["\u201c-\u201f]/g, "'")
  return `\u201c${[...line.trim()].slice(0, NAME_CHARACTERS).join('')}\u201d`
}

/** What others wrote stands on a line of its own that begins with a mark, as quotations in mail do. */
const quoted = (memo: string): string => `Their message:\n> ${memo}`

export function invitingMail({ sender, hostname, amount, memo, until }: Invitation, link: string) {
  const text = [
    `${sender} sends you ${amount}, from the wallet ${hostname}.`,
    `Until ${until} it waits for you here:\n${link}`,
    ...(memo === null ? [] : [quoted(memo)]),
    'If you do not want it, do nothing: it goes back then.',
  ].join('\n\n')
  return { subject: `${sender} sends you ${amount}`, text }
}

export const expiredMail = ({ amount, email }: Invitation) => ({
  subject: `${amount} came back to you`,
  text: `${email} did not claim ${amount} in time. It is back in your wallet.`,
})
