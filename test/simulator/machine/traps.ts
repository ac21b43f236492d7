/** Moments at which a process can be made to die. */
export const moments = [
  'before a commit',
  'a commit has landed',
  'a card is charged',
  'a card is refunded',
  'a mail is accepted',
  'an endpoint has answered',
  'a webhook is received',
] as const

export type Moment = (typeof moments)[number]

/** Called by a process at such a moment. Returns whether it has just died, and nothing in it goes on. */
export type Reach = (moment: Moment) => boolean

/** Moments at which the next process to reach one dies. */
export class Traps {
  readonly #set: { readonly moment: Moment; left: number }[] = []

  /** The process dies that reaches this moment after so many others have passed it. */
  set(moment: Moment, passes: number): void {
    this.#set.push({ moment, left: passes })
  }

  spring(moment: Moment): boolean {
    const trap = this.#set.find((each) => each.moment === moment)
    if (!trap) return false
    if (trap.left-- > 0) return false
    this.#set.splice(this.#set.indexOf(trap), 1)
    return true
  }

  clear(): void {
    this.#set.length = 0
  }
}
