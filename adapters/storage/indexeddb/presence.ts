import type { Presence } from '../../../src/storage/storage.js'

/** Whoever is here holds a lock by their name. The browser lets go of it when their tab or worker ends, however that happens. */
export function presenceBy(
  locks: Pick<LockManager, 'request'>,
  prefix: string,
): { presence: Presence; leave: () => void } {
  let leave = () => {}
  const left = new Promise<void>((resolve) => (leave = resolve))
  const entered = new Map<string, Promise<void>>()
  const enter = (name: string) =>
    new Promise<void>((resolve, reject) => {
      const hold = () => {
        resolve()
        return left
      }
      locks.request(`${prefix}.${name}`, hold).catch(reject)
    })
  const presence: Presence = {
    enter(name) {
      const known = entered.get(name) ?? enter(name)
      entered.set(name, known)
      return known
    },
    isAlive: (name) =>
      locks.request(`${prefix}.${name}`, { mode: 'shared', ifAvailable: true }, async (lock) => lock === null),
  }
  return { presence, leave }
}
