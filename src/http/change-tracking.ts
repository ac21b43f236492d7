import { Problem } from '../base/problem.js'
import { OutcomeUnknown, type Writer } from '../storage/storage.js'
import { storageOver } from '../storage/storage-over.js'
import { TrackedTransaction } from '../storage/tracked-transaction.js'
import type { ServiceContext } from './context.js'

/** A service that tracks whether a call changed anything, in the storage or outside. */
export interface ChangeTracker {
  readonly service: ServiceContext
  /** Whether the call wrote more than tallies or called a port. It never becomes false again. */
  readonly hasChanged: boolean
}

/** The original service of each tracked one. */
const untrackedServices = new WeakMap<ServiceContext, ServiceContext>()

/** The service without tracking, for steps that only ask a person. Asking changes nothing. */
export const untracked = (service: ServiceContext): ServiceContext => untrackedServices.get(service) ?? service

export function trackChanges(service: ServiceContext): ChangeTracker {
  const watched = { hasChanged: false, service }
  const note = () => {
    watched.hasChanged = true
  }
  const { storage, background } = service
  watched.service = {
    ...service,
    storage: storageOver(storage, {
      import: (state, options) => trackOutcome(storage.import(state, options), note),
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
    }),
    background: {
      ...background,
      moveClock: (...move) => trackOutcome(background.moveClock(...move), note, isNoRefusal),
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

/** Records a change when it has happened, and also when nobody knows whether it has. */
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

/** The clock moves in steps. If one fails for another reason than a refusal, earlier ones have changed something. */
const isNoRefusal = (error: unknown): boolean => !(error instanceof Problem)

/** A port that records every call as a change. */
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
