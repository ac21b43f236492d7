import { accountIdOf, userIdOf } from '../../../base/owner.js'
import { accounts } from '../../../identity/accounts/account.js'
import { users } from '../../../identity/users/user.js'
import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { moneyText, toAmount } from '../../../money/ledger/amount.js'
import { balanceOf, spendable } from '../../../money/ledger/movement.js'
import type { TwinRow } from '../../../money/twins/twin.js'
import type { Reader } from '../../../storage/storage.js'

/** An amount with its unit, for sentences: `0.25 USD`. */
export async function money(tx: Reader, dq: string, units: bigint | string): Promise<string> {
  const quantity = await tx.get(digitalQuantities, dq)
  return quantity ? moneyText(units, quantity) : `${units} smallest units`
}

/** An amount as the interface shows it: a number in the digital quantity. */
export async function shownAmount(tx: Reader, dq: string, units: bigint | string): Promise<number> {
  return toAmount(units, (await tx.get(digitalQuantities, dq))?.decimals ?? 0)
}

/** An amount as the interface shows it, and for sentences. */
export const amounts = async (tx: Reader, dq: string, units: bigint | string) =>
  [await shownAmount(tx, dq, units), await money(tx, dq, units)] as const

/** A time for people: `2026-01-31 09:05:00 UTC`. */
export const timeText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`

/** A span of time for people: `2 minutes`. */
export function spanText(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000)
  for (const [unit, length] of Object.entries({ day: 86_400, hour: 3600, minute: 60 }))
    if (seconds >= 2 * length || seconds === length) return plural(Math.floor(seconds / length), unit)
  return plural(seconds, 'second')
}

export const plural = (count: number, noun: string): string =>
  `${count} ${count === 1 ? noun : noun.replace(/([^aeiou])y$/, '$1ie')}${count === 1 ? '' : 's'}`

/** Whether something is over or still to come: `It ended 3 minutes before the request.` */
export const endText = (endsAt: number, at: number): string =>
  endsAt <= at
    ? `ended at ${timeText(endsAt)}, ${spanText(at - endsAt)} before the request`
    : `lasts until ${timeText(endsAt)}`

/** An owner with its name: `account:1 (Shop)`, `user:2 (ada@example.test)`. */
export async function ownerText(tx: Reader, owner: string): Promise<string> {
  const [account, user] = [accountIdOf(owner), userIdOf(owner)]
  const ofUser = user === undefined ? undefined : (await tx.get(users, user))?.email
  const name = account === undefined ? ofUser : (await tx.get(accounts, account))?.name
  return name ? `${owner} (${name})` : owner
}

/** What a twin had of a digital quantity, as data. Amounts are in the digital quantity. */
export async function holdings(tx: Reader, twin: TwinRow, dq: string) {
  const { hostname, owner } = twin
  const row = await balanceOf(tx, twin.id, dq)
  const shown = (units: bigint | string) => shownAmount(tx, dq, units)
  const [balance, held] = [await shown(row.amount), await shown(row.held)]
  return { hostname, owner, dq, balance, held, spendable: await shown(spendable(row)) }
}

/** A list for a sentence: `a, b and c`. `nothing` if it is empty. `tick` stands before and after the list. */
export function listText(parts: readonly string[], tick = ''): string {
  const all = parts.slice(0, -1).join(`${tick}, ${tick}`)
  return parts.length < 2 ? (parts[0] ?? 'nothing') : `${all}${tick} and ${tick}${parts.at(-1)}`
}
