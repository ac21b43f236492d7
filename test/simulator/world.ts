import { StorageUnavailable } from '../../src/storage/storage.js'
import type { Answer, CallOptions } from '../support/api.js'
import { routeOf } from '../support/api.js'
import { answerOf, requestOf } from '../support/scenes/requests.js'
import { basic } from '../support/scenes/world.js'
import type { Draws } from './machine/draws.js'
import type { Outside } from './machine/outside.js'
import { BASE_URL, type SimulatedProcess } from './machine/process.js'
import type { Timeline } from './machine/timeline.js'
import { hold } from './properties/broken.js'
import type { Follower } from './properties/followers.js'
import type { Asked, Records } from './properties/records.js'
import type { Sightings } from './properties/sightings.js'

/** Someone who calls the service. */
export interface Person {
  /** Such as `reader 2`. */
  readonly name: string
  readonly id: number
  readonly email: string
  readonly clientId: string
  readonly clientSecret: string
  token: string
  readonly hostname: string
  session?: string
}

export interface Ware {
  readonly seller: Person
  readonly hash: string
  cost: number
  readonly dq: string
}

export interface Item {
  readonly id: number
  readonly seller: Person
  price: number
  readonly dq: string
}

/** What everybody begins with. */
export interface Cast {
  readonly sellers: readonly (Person & { readonly publicSecret: string; readonly twinId: number })[]
  readonly readers: readonly Person[]
  readonly wares: readonly Ware[]
  readonly items: readonly Item[]
  readonly dq: string
}

export interface WorldParts {
  readonly cast: Cast
  readonly timeline: Timeline
  readonly draws: Draws
  readonly outside: Outside
  readonly records: Records
  readonly sightings: Sightings
  /** A process that takes requests now. Undefined while there is none. */
  findProcess(draws: Draws): SimulatedProcess | undefined
  /** Someone whom nobody waits for has seen a promise broken. */
  onBroken(error: Error): void
}

/** How a request between a person and the service gets lost. */
export type NetworkFault = 'request lost' | 'answer lost' | 'sent twice'

interface CallBy extends CallOptions {
  readonly by?: Person
  /** A new Idempotency-Key for this, sent with each try. */
  readonly asked?: Asked
  /** How often it is sent at most. */
  readonly tries?: number
  /** Where another service is, such as a fork: it is part of the path, and of no operation. */
  readonly prefix?: string
}

/** An answer, and whether it says what has happened. */
export interface Told extends Answer {
  readonly isLost: boolean
}

const LOST: Told = { status: 0, headers: new Headers(), text: '', body: undefined, isLost: true }

/** What people and sites find when they call the service: processes that come and go, behind a network that loses things. */
export class World {
  readonly cast: Cast
  readonly timeline: Timeline
  readonly outside: Outside
  readonly records: Records
  readonly sightings: Sightings
  readonly networkFaults: NetworkFault[] = []
  /** Everything that was asked and answered, for the digest of the run. */
  readonly history: string[] = []
  /** What each operation was answered with, by its id. */
  readonly answered = new Map<string, Set<number>>()
  readonly #parts: WorldParts
  /** How many requests were sent. */
  calls = 0
  #keys = 0

  constructor(parts: WorldParts) {
    this.#parts = parts
    this.cast = parts.cast
    this.timeline = parts.timeline
    this.outside = parts.outside
    this.records = parts.records
    this.sightings = parts.sightings
  }

  ask(what: string): Asked {
    return this.records.ask(`key-${++this.#keys}-${'0'.repeat(20)}`, what, this.timeline.now())
  }

  /** Sends a request until it is answered, as a client does that never gives up early. */
  async call(method: string, path: string, options: CallBy = {}): Promise<Told> {
    const { asked, tries = asked || method === 'GET' ? 6 : 1 } = options
    for (let tried = 1; ; tried++) {
      const told = await this.#send(method, path, options)
      const isOpen = told.isLost || isDeadLetter(told)
      if (asked && isOpen) asked.isUncertain = true
      if (!told.isLost && told.headers.has('idempotent-replayed')) this.sightings.see('a retry finds its first effect')
      if (!isOpen || tried >= tries) return told
      await this.timeline.wait(this.#parts.draws.between(50, 400) * 2 ** tried)
    }
  }

  async #send(method: string, path: string, options: CallBy): Promise<Told> {
    const { by } = options
    const token = options.token ?? (options.session === undefined ? by?.token : undefined)
    const told = await this.#once(method, path, { ...options, ...(token !== undefined && { token }) })
    if (told.status !== 401 || !by || options.token !== undefined || options.session !== undefined) return told
    await this.signIn(by)
    return this.#once(method, path, { ...options, token: by.token })
  }

  /** Who of the cast has this token. */
  personOf(token: string): Person | undefined {
    return [...this.cast.readers, ...this.cast.sellers].find((person) => person.token === token)
  }

  async signIn(who: Person): Promise<void> {
    const headers = basic(who.clientId, who.clientSecret)
    const { status, body } = await this.call('POST', '/v4/account/oauth/token', { headers, tries: 3 })
    if (status !== 200) return
    who.token = body.access_token
    this.records.keepSecret(who.token, who.name, 'an access token')
  }

  /** Follows someone's events at one process for a while, or until that ends. */
  async follow(by: Person, follower: Follower, ms: number): Promise<void> {
    const process = this.#parts.findProcess(this.#parts.draws)
    const headers = { accept: 'text/event-stream', 'last-event-id': String(follower.last) }
    const response = await process?.respond(requestOf('GET', `${BASE_URL}/v4/events`, { token: by.token, headers }))
    if (!process || response?.status !== 200 || !response.body) return
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    const end = Promise.race([this.timeline.wait(ms), process.ended])
    for (;;) {
      const read = await Promise.race([reader.read().catch(isCutOff), end])
      if (!read || read.done) break
      follower.hear(read.value)
      if (follower.heard.size > 0) this.sightings.see('a follower hears of events')
    }
    reader.cancel().catch(() => {})
  }

  async #once(method: string, path: string, options: CallBy): Promise<Told> {
    this.calls++
    const { timeline, draws } = this.#parts
    const fault = this.networkFaults.shift()
    if (fault) this.sightings.see(`network: ${fault}`)
    await timeline.wait(draws.between(1, 20))
    if (fault === 'request lost') return this.#note(method, path, options, LOST)
    if (fault === 'sent twice') this.#arrive(method, path, options).catch(this.#parts.onBroken)
    const told = await this.#arrive(method, path, options)
    await timeline.wait(draws.between(1, 20))
    return this.#note(method, path, options, fault === 'answer lost' ? LOST : told)
  }

  async #arrive(method: string, path: string, { asked, headers, prefix = '', ...options }: CallBy): Promise<Told> {
    const process = this.#parts.findProcess(this.#parts.draws)
    if (!process) return LOST
    const keyed = { ...(asked && { 'idempotency-key': asked.key }), ...headers }
    const response = await process.respond(requestOf(method, BASE_URL + prefix + path, { ...options, headers: keyed }))
    if (!response) return LOST
    const isEndless = response.headers.get('content-type')?.startsWith('text/event-stream')
    const text = isEndless ? '' : await response.text()
    if (isEndless) await response.body?.cancel()
    // It counts even if it gets lost, or if nobody waits for it.
    if (asked && response.status < 300) this.records.succeeded(asked, text, this.timeline.now())
    return { ...answerOf(response, text), isLost: false }
  }

  #note(method: string, path: string, { by }: CallBy, told: Told): Told {
    const { route } = routeOf(method, path) ?? {}
    const { status, body, text, isLost } = told
    this.history.push(`${this.timeline.now()} ${by?.name ?? '-'} ${route?.id} ${status} ${body?.code ?? ''}`)
    if (isLost || !route) return told
    const seen = this.answered.get(route.id) ?? new Set()
    this.answered.set(route.id, seen.add(status))
    const isRelayed = told.headers.get('content-security-policy')?.startsWith('sandbox')
    hold(status !== 500 || isRelayed === true, 'No request meets a defect', [method, path, text])
    if (by) this.records.checkShown(by.name, text, route.id)
    return told
  }
}

/** Whether an answer leaves open what has happened. Then the same request is sent again. */
const isDeadLetter = ({ status, body }: Answer): boolean =>
  status === 503 || body?.code === 'idempotency_in_progress' || body?.code === 'outcome_unknown'

/** A stream breaks off when the storage fails, and its reader connects again. */
function isCutOff(error: unknown): undefined {
  if (!(error instanceof StorageUnavailable)) throw error
}
