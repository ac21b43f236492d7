import { Problem } from '../base/problem.js'
import { OutcomeUnknown, type Writer } from '../storage/storage.js'
import { TrackedTransaction } from '../storage/tracked-transaction.js'
import type { ServiceContext } from './context.js'

/** A service that notes whether anything is changed by it, here or outside. */
export interface ChangeTracker {
  readonly service: ServiceContext
  /** More than counts was written, or something outside was asked; it stays true. */
  readonly hasChanged: boolean
}

/** What a watched service was made of. */
const untrackedServices = new WeakMap<ServiceContext, ServiceContext>()

/** The service for steps that only ask somebody: no question is a change, however it is answered. */
export const untracked = (service: ServiceContext): ServiceContext => untrackedServices.get(service) ?? service

export function trackChanges(service: ServiceContext): ChangeTracker {
  const watched = { hasChanged: false, service }
  const note = () => {
    watched.hasChanged = true
  }
  const { storage, background } = service
  watched.service = {
    ...service,
    // A sandbox that is restored has another key from then on.
    get keys() {
      return service.keys
    },
    set keys(keys) {
      service.keys = keys
    },
    storage: {
      ...storage,
      read: (body) => storage.read(body),
      export: () => storage.export(),
      close: () => storage.close(),
      import: (state) => trackOutcome(storage.import(state), note),
      write(body) {
        let last: TrackedTransaction | undefined
        const watchedBody = (tx: Writer) => {
          last = new TrackedTransaction(tx)
          return body(last)
        }
        const noteChange = () => {
          if (last?.hasChanged) note()
        }
        return trackOutcome(storage.write(watchedBody), noteChange)
      },
    },
    background: {
      ...background,
      moveClock: (aim) => trackOutcome(background.moveClock(aim), note, isNoRefusal),
    },
    get upstream() {
      return trackCalls(service.upstream, note)
    },
    get cards() {
      return service.cards && trackCalls(service.cards, note)
    },
  }
  untrackedServices.set(watched.service, service)
  return watched
}

/** Notes a change once it was made, and where nobody knows whether it was. */
async function trackOutcome<T>(made: Promise<T>, note: () => void, mayBe = isUnknown): Promise<T> {
  try {
    const value = await made
    note()
    return value
  } catch (error) {
    if (mayBe(error)) note()
    throw error
  }
}

const isUnknown = (error: unknown): boolean => error instanceof OutcomeUnknown

/** The clock goes step by step, and a step that fails follows others. */
const isNoRefusal = (error: unknown): boolean => !(error instanceof Problem)

/** A port whose every call is noted. */
const trackCalls = <Port extends object>(port: Port, note: () => void): Port =>
  new Proxy(port, {
    get(target, name) {
      const part: unknown = Reflect.get(target, name, target)
      if (typeof part !== 'function') return part
      return (...args: unknown[]) => {
        note()
        return Reflect.apply(part, target, args)
      }
    },
  })
