/** What value the service must hold where, as plainly as can be. Amounts are in thousandths, the smallest unit. */

export const HOUR = 3_600_000
export const DAY = 24 * HOUR
const INVITATION = 30 * DAY
const KEPT = 90 * DAY

export type Who = string

export interface Invitation {
  readonly from: Who
  readonly email: string
  readonly amount: number
  readonly expiresAt: number
  status: 'invited' | 'completed' | 'cancelled' | 'expired'
}

export interface Authority {
  readonly owner: Who
  readonly limit: number
  readonly period: 'day' | 'month' | undefined
  readonly expiresAt: number | undefined
  revoked: boolean
  readonly spent: Map<string, number>
}

export class Model {
  now: number
  #latest: number
  readonly balances = new Map<Who, number>()
  readonly held = new Map<Who, number>()
  readonly invitations: Invitation[] = []
  readonly authorities: Authority[] = []
  /** Those who have proven their email. */
  readonly proven = new Set<Who>()
  issued = 0

  constructor(now: number, who: readonly Who[], funds: number) {
    this.now = now
    this.#latest = now
    for (const each of who) {
      this.issue(each, funds)
      this.proven.add(each)
    }
  }

  knows(who: Who): boolean {
    return this.balances.has(who)
  }

  spendable(who: Who): number {
    return (this.balances.get(who) ?? 0) - (this.held.get(who) ?? 0)
  }

  issue(to: Who, amount: number): void {
    this.issued += amount
    this.#add(this.balances, to, amount)
  }

  /** The word that is answered to a payment; undefined where it goes through, and is made. */
  move(from: Who, to: Who, amount: number): string | undefined {
    if (from === to) return 'same_twin'
    if (this.spendable(from) < amount) return 'insufficient_funds'
    this.#add(this.balances, from, -amount)
    this.#add(this.balances, to, amount)
    return undefined
  }

  invite(from: Who, email: string, amount: number): string | undefined {
    if (this.spendable(from) < amount) return 'insufficient_funds'
    this.#add(this.held, from, amount)
    this.invitations.push({ from, email, amount, expiresAt: this.now + INVITATION, status: 'invited' })
    return undefined
  }

  /** Whether retention may have removed an invitation that came to nothing. A clock that goes back brings nothing back. */
  mayBeRemoved({ status, expiresAt }: Invitation): boolean {
    return (status === 'cancelled' || status === 'expired') && this.#latest >= expiresAt + KEPT
  }

  /** Those that wait for an email, and have not expired. */
  open(email: string): Invitation[] {
    return this.invitations.filter(
      (each) => each.status === 'invited' && each.email === email && each.expiresAt > this.now,
    )
  }

  settle(invitation: Invitation, status: Exclude<Invitation['status'], 'invited'>): void {
    invitation.status = status
    this.#add(this.held, invitation.from, -invitation.amount)
    if (status === 'completed') this.move(invitation.from, invitation.email, invitation.amount)
  }

  /** Someone of that email has a twin from now on. */
  join(who: Who): void {
    if (!this.knows(who)) this.balances.set(who, 0)
  }

  /** The word that is answered to spending by an authority. */
  refusal({ revoked, expiresAt, limit, period, spent }: Authority, amount: number): string | undefined {
    if (revoked || (expiresAt !== undefined && expiresAt <= this.now)) return 'delegate_refused'
    return (spent.get(this.#periodOf(period)) ?? 0) + amount > limit ? 'delegate_refused' : undefined
  }

  count({ period, spent }: Authority, amount: number): void {
    this.#add(spent, this.#periodOf(period), amount)
  }

  /** Invitations end as the time passes; what has passed does not come back. */
  moveClock(ms: number): void {
    this.now += ms
    this.#latest = Math.max(this.#latest, this.now)
    for (const each of this.invitations)
      if (each.status === 'invited' && each.expiresAt <= this.now) this.settle(each, 'expired')
  }

  #periodOf(period: Authority['period']): string {
    return period === undefined ? 'all' : new Date(this.now).toISOString().slice(0, period === 'day' ? 10 : 7)
  }

  #add(sums: Map<string, number>, key: string, amount: number): void {
    sums.set(key, (sums.get(key) ?? 0) + amount)
  }
}
