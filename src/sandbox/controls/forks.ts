import { load } from '../../base/parts.js'
import { problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { StorageClosed } from '../../storage/storage.js'
import { type HttpFork, type HttpForks, sandboxOf } from '../onion/context.js'
import { FORKS } from '../onion/fork-urls.js'
import { takeKey } from '../settings/settings.js'

interface ForkedService {
  respond(request: Request, source: Parameters<HttpForks['respond']>[2]): Promise<Response>
  close(): Promise<void>
}

const MOST_FORKS = 1000

/** The forks of a service that are reached below its own URL. */
export class ServedForks implements HttpForks {
  readonly #forks = new Map<string, HttpFork & { readonly service: Promise<ForkedService> }>()
  #isClosed = false

  /** `open` makes a fork that knows itself by a URL. */
  constructor(
    readonly service: Pick<ServiceContext, 'baseUrl' | 'random'>,
    readonly open: (url: string) => Promise<ForkedService>,
  ) {}

  async create(): Promise<HttpFork> {
    if (this.#isClosed) throw new StorageClosed()
    if (this.#forks.size >= MOST_FORKS) {
      const [oldest] = this.#forks.keys()
      const detail = `At most ${MOST_FORKS} forks. The oldest is ${oldest}.`
      throw problem('sandbox_full', { detail, facts: { most: MOST_FORKS, what: 'forks', oldest } })
    }
    const id = this.#newId()
    const url = `${this.service.baseUrl}${FORKS}${id}`
    const service = this.open(url)
    this.#forks.set(id, { id, url, service })
    await service.catch((error: unknown) => {
      this.#forks.delete(id)
      throw error
    })
    return { id, url }
  }

  /** A random source of a test may repeat itself. */
  #newId(): string {
    const drawn = `fork_${randomHex(this.service.random, 8)}`
    let id = drawn
    for (let n = 2; this.#forks.has(id); n++) id = `${drawn}_${n}`
    return id
  }

  list = (): readonly HttpFork[] => [...this.#forks.values()].map(({ id, url }) => ({ id, url }))

  async remove(id: string): Promise<void> {
    const { service } = this.#fork(id)
    this.#forks.delete(id)
    await (await service).close()
  }

  find(path: string): string | undefined {
    return path.startsWith(FORKS) ? /^([^/]*)\//.exec(path.slice(FORKS.length))?.[1] : undefined
  }

  async respond(id: string, request: Request, source: Parameters<HttpForks['respond']>[2]): Promise<Response> {
    const { service } = this.#fork(id)
    return (await service).respond(request, source)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const forks = [...this.#forks.values()]
    this.#forks.clear()
    await Promise.allSettled(forks.map(async ({ service }) => (await service).close()))
  }

  #fork(id: string) {
    const fork = this.#forks.get(id)
    if (!fork) throw problem('not_found', { detail: 'There is no such fork. Create one with POST /_sandbox/forks.' })
    return fork
  }
}

export const forksOf = (service: Pick<ServiceContext, 'sandbox'>): HttpForks => sandboxOf(service).forks

/** Takes over what a fork needs and its state does not hold. `at`: its time, in milliseconds. Default: that of its parent. */
export function inherit(context: ServiceContext, { keys, sandbox }: ServiceContext, at?: number): void {
  context.stateKey.change(keys)
  const [own, former] = [sandboxOf(context), sandboxOf({ sandbox })]
  own.clock.restore(former.clock.state())
  if (at !== undefined) own.clock.setTo(at)
  own.isServed = former.isServed
  for (const id of former.handedApprovals.keys()) own.handedApprovals.set(id, true)
  for (const [id, client] of former.seededClients) own.seededClients.set(id, client)
}

/** Takes the key of the state of a fork, and ends what it shows as running: that runs in its parent. */
export async function settleFork(context: ServiceContext): Promise<void> {
  await takeKey(context)
  const { endUnfinished } = await load(() => import('./unfinished.js'))
  await endUnfinished(context, true)
}
