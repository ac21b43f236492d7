import { isAccountOrUser, type Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { normalEmail } from '../../base/text/email.js'
import { fieldRefused } from '../../http/fields/field.js'
import { Email, z } from '../../http/fields/schema.js'
import { emailOf, provenUserByEmail } from '../../identity/users/user.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toUnits } from '../../money/ledger/amount.js'
import { primaryTwin, type TwinRow, twinNamed, twinNameIn } from '../../money/twins/twin.js'
import type { Reader } from '../../storage/storage.js'
import { isMemo } from './wording.js'

export interface TransferOrder {
  readonly sender: Owner
  /** A twin's hostname, address or URL, or an email. */
  readonly address: string
  /** In the digital quantity. */
  readonly amount: number
  /** Default: the digital quantity of the sender's primary twin. */
  readonly dq?: string | undefined
  readonly memo?: string | null | undefined
}

export interface TransferPlan {
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
export async function planTransfer(tx: Reader, { sender: owner, ...order }: TransferOrder): Promise<TransferPlan> {
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

/** Throws `field_invalid`. */
function memoOf(text: string): string | null {
  if (isMemo(text)) return text.trim() || null
  throw fieldRefused('memo', 'must be one line of at most 140 characters, without control characters')
}

/** Throws `field_invalid` for a malformed address, `not_found` for an unknown one. */
async function resolveAddress(tx: Reader, sent: string): Promise<Pick<TransferPlan, 'address' | 'payee'>> {
  const text = sent.trim()
  if (!text.includes('://') && text.includes('@')) return resolveEmail(tx, sent)
  if (twinNameIn(text) === undefined)
    throw fieldRefused('address', "must be a twin's hostname, address or URL, or an email address")
  const payee = await twinNamed(tx, text)
  if (!payee || !isAccountOrUser(payee.owner)) throw problem('not_found', { detail: 'No wallet has this address.' })
  return { address: payee.hostname, payee }
}

async function resolveEmail(tx: Reader, text: string): Promise<Pick<TransferPlan, 'address' | 'payee'>> {
  if (!z.safeParse(Email, text).success)
    throw fieldRefused('address', 'must be an email address such as ada@example.test')
  const address = normalEmail(text)
  const reader = await provenUserByEmail(tx, address)
  return { address, payee: (reader && (await primaryTwin(tx, `user:${reader.id}`))) ?? null }
}
