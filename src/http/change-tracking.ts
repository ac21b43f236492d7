import { Problem } from '../base/problem.js'
import { ObservedStorage } from '../storage/service-storage.js'
import type { ServiceContext } from './context.js'

/** A service that tracks whether a call changed anything, in the storage or outside. */
export interface ChangeTracker {
  readonly service: ServiceContext
  /** Whether the call wrote more than tallies or called a port. It never becomes false again. */
  readonly hasChanged: boolean
}

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
    storage: new ObservedStorage(storage, { hasWritten: ({ hasChanged }) => hasChanged && note(), hasImported: note }),
    background: { ...background, moveClock: (...move) => trackMove(background.moveClock(...move), note) },
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

/** The clock moves in steps. If one fails for another reason than a refusal, earlier ones have changed something. */
async function trackMove(moved: Promise<void>, note: () => void): Promise<void> {
  try {
    await moved
    note()
  } catch (error) {
    if (!(error instanceof Problem)) note()
    throw error
  }
}

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
