import { PAGE_CALL } from '../../base/page-call.js'
import { digest } from '../../base/secrets.js'
import { principalName } from '../../http/caller.js'
import type { Incoming, Origin } from '../../http/incoming.js'
import type { RequestRecording } from '../../http/recorder.js'
import type { RenderedAnswer } from '../../http/rendered-answer.js'
import type { Journal } from './journal.js'
import type { KeptEntry } from './kept-entry.js'
import { headerLines, KeptMessage } from './kept-message.js'
import { EntryRecording } from './recording.js'

/** Fills the entry of a request. */
export class RecordedRequest extends EntryRecording implements RequestRecording {
  declare private body: Uint8Array | string | undefined

  constructor(entry: KeptEntry, incoming: Incoming, journal: Journal) {
    super(entry, journal)
    this.body = undefined
    const { request, path, url, source, headers } = incoming
    entry.origin = originOf(incoming)
    if (incoming.clientAddress !== undefined) entry.client_address = incoming.clientAddress
    if (source.causedBy !== undefined) entry.caused_by = source.causedBy
    entry.method = request.method
    const query = url.indexOf('?')
    entry.sentPath = query < 0 ? path : path + url.slice(query).replace(/#.*/, '')
    const parent = headers.get('traceparent')
    const trace = parent === null ? undefined : TRACEPARENT.exec(parent)?.[1]
    if (trace !== undefined) entry.trace = trace
  }

  takeBody(body: Uint8Array | string): void {
    this.body = body
  }

  end(incoming: Incoming, answer: RenderedAnswer | undefined): void {
    const { entry } = this
    const { endpoint, headers, params, source } = incoming
    entry.route = endpoint?.route
    entry.operation_id = endpoint?.route.id ?? null
    if (params.token !== undefined) entry.tokenDigest = digest(params.token)
    if (params.delegate !== undefined && /^41[0-9a-f]{64}$/.test(params.delegate))
      entry.delegateInPath = params.delegate
    entry.principal = principalName(incoming.principal)
    // Who sent a `Request` may change its headers later.
    entry.sent = new KeptMessage(headers instanceof Headers ? headerLines(headers) : headers, this.body)
    if (answer) this.#keepAnswer(answer)
    if (source.causedBy !== undefined) this.journal.entry(source.causedBy)?.cause({ kind: 'entry', id: this.id })
    const key = headers.get('idempotency-key')
    if (key !== null) this.#linkRetry(key, incoming.path, answer)
    entry.stop(incoming.ms)
    this.journal.ended(entry)
  }

  #keepAnswer({ status, headers, body, facts }: RenderedAnswer): void {
    const { entry } = this
    entry.status = status
    if (facts) entry.keepFacts(facts)
    // Pages, files and streams are not kept.
    const isKept = headers['content-type']?.includes('json') ?? true
    entry.answered = new KeptMessage(headers, isKept ? body : null)
    if (status < 400 || typeof body !== 'string') return
    const [, code] = /"code":"(\w+)"/.exec(body) ?? []
    if (code !== undefined) entry.code = code
  }

  /** The answer that a key repeats comes from an earlier entry. */
  #linkRetry(key: string, path: string, answer: RenderedAnswer | undefined): void {
    const { causes } = this.journal
    const given = `${this.entry.principal}:${this.entry.method}:${path}:${key}`
    // Its parts are as long as a caller likes, and outside the bytes of the journal.
    const thing = `key:${given.length > LONGEST_CAUSE ? digest(given) : given}`
    const first = causes.of(thing)
    if (first === undefined) causes.note(thing, this.id)
    else if (answer?.headers['idempotent-replayed'] !== undefined) this.entry.caused_by = first
  }
}

const LONGEST_CAUSE = 256

/** W3C Trace Context. */
const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/

function originOf({ source, path, headers }: Incoming): Origin {
  if (headers.has(PAGE_CALL)) return 'page'
  if (path.includes('/mcp') && /^(\/_sandbox)?\/mcp(\/|$)/.test(path)) return 'mcp'
  return source.origin ?? (source.peerAddress === undefined ? 'in_process' : 'http')
}
