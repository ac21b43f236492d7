import { load } from '../base/parts.js'
import type { Tracer } from '../base/tracer.js'
import type { ServiceContext } from '../http/context.js'
import { events } from '../jobs/events/event.js'
import { outbox } from '../jobs/outbox/outbox.js'
import { begin } from '../sandbox/controls/bootstrap.js'
import type { SandboxLayers } from './sandboxed.js'

interface Started {
  readonly context: ServiceContext
  /** Undefined for a service that is no sandbox. */
  readonly layers: SandboxLayers | undefined
  /** Whether it goes on from the state of another service. */
  readonly isFork: boolean
  readonly tracer: Tracer | undefined
}

export class Lifecycle {
  #starting: Promise<void> | undefined
  #closing: Promise<void> | undefined
  hasStarted = false

  constructor(readonly started: Started) {}

  readonly ready = (): Promise<void> => {
    // After a failed start, the next caller tries again.
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined
      throw error
    })
    return this.#starting
  }

  async #start(): Promise<void> {
    const { context, layers, isFork, tracer } = this.started
    if (tracer) await trace(tracer, context)
    await context.storage.presence?.enter(context.instance)
    const arm = await layers?.prepare()
    if (isFork) await layers?.takeOver()
    else await begin(context)
    await arm?.()
    context.background.wake()
    this.hasStarted = true
  }

  close(withinMs: number): Promise<void> {
    this.#closing ??= this.#close(withinMs)
    return this.#closing
  }

  async #close(withinMs: number): Promise<void> {
    const { context, layers } = this.started
    context.ending.close(withinMs)
    await this.#starting?.catch(() => {})
    await layers?.close()
    // Upstream calls in progress settle their holds first.
    const settled = Promise.allSettled(context.ongoing.values())
    await Promise.race([settled, context.ending.late])
    await context.background.end()
    context.ending.finish()
    await context.storage.close()
  }
}

async function trace(tracer: Tracer, context: ServiceContext): Promise<void> {
  const { traceWith } = await load(() => import('../http/tracing/span-recorder.js'))
  traceWith(tracer, context, { messages: outbox.name, events: events.name })
}

/** Servers that pass requests on to a service, each known by the signal that fires when it begins to close. */
export class ClosingServers {
  readonly #known = new WeakSet<AbortSignal>()

  constructor(readonly onClosing: () => void) {}

  watch(closing: AbortSignal): void {
    if (this.#known.has(closing)) return
    this.#known.add(closing)
    if (closing.aborted) this.onClosing()
    else closing.addEventListener('abort', this.onClosing, { once: true })
  }
}
