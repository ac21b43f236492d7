import type { Presence } from '../../../src/storage/storage.js'

/** Shows which instances are alive: each holds a lock of its name. The browser releases it when the tab or worker ends. */
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
