import { parsedJson } from '../../../base/json.js'
import { HIDDEN } from '../../../base/text/redacted.js'
import type { CallDraft, Template } from '../../replay/call-draft.js'
import { Source, templateSource, textSource, valueSource } from './source.js'
import type { CallerSource, TestSecrets } from './test-secrets.js'

/** Headers that clients add by themselves, and that change nothing here. */
const OF_CLIENTS = /^(sec-|cache-control$|pragma$|priority$|dnt$|upgrade-insecure-requests$)/

const isOfClient = (name: string, value: string): boolean =>
  OF_CLIENTS.test(name) || (name === 'accept' && value === '*/*') || (name === 'accept-language' && value === '*')

/**
 * Writes the request of an entry as a call of `service.fetch`: its code, and the lines that must come before. Throws
 * `not_replayable`.
 */
export async function requestSource(draft: CallDraft, secrets: TestSecrets) {
  const { method, body } = draft
  const caller = await secrets.ofCaller(draft)
  const before = [...(caller.before ?? [])]
  const filled: Source[] = []
  for (const part of [...draft.path, ...(body ?? [])]) {
    if (typeof part === 'string') continue
    const secret = await secrets.of(part, draft, caller)
    before.push(...(secret.before ?? []))
    filled.push(secret.source)
  }
  const writer = new RequestWriter(secrets.known, filled)
  const path = writer.path(draft.path)
  const headers = headersSource(draft, caller, secrets)
  const init = [
    ...(method === 'GET' ? [] : [`method: ${textSource(method)}`]),
    ...(headers === undefined ? [] : [`headers: ${headers}`]),
    ...(body === null ? [] : [`body: ${writer.body(body)}`]),
  ]
  return { before, code: callSource(path, init) }
}

function callSource(path: string, init: readonly string[]): string {
  if (init.length === 0) return `service.fetch(${path})`
  const line = `service.fetch(${path}, { ${init.join(', ')} })`
  if (line.length <= 100 && !line.includes('\n')) return line
  return `service.fetch(${path}, {\n${init.map((part) => `  ${part.replaceAll('\n', '\n  ')},\n`).join('')}})`
}

function headersSource(
  { entry, headers }: CallDraft,
  { spread, headers: identifying }: CallerSource,
  { known }: TestSecrets,
) {
  const { 'idempotency-key': key } = entry.request.headers
  const others = Object.entries(headers).filter(([name, value]) => !isOfClient(name, value))
  const sent = {
    ...identifying,
    ...Object.fromEntries(others.map(([name, value]) => [name, known.text(value) ?? value])),
    ...(key !== undefined && { 'idempotency-key': key }),
  }
  const own = Object.keys(sent).length === 0 ? undefined : valueSource(sent)
  if (!spread) return own
  return own === undefined ? spread.code : own.replace(/^\{\s*/, (open) => `${open}...${spread.code}, `)
}

/** Stands for a secret while a text is divided. */
const MARK = '\uE000'

const textOf = (template: Template, secret: string): string =>
  template.map((part) => (typeof part === 'string' ? part : secret)).join('')

/** Writes the parts of one request, with its secrets in their order. */
class RequestWriter {
  constructor(
    private readonly known: TestSecrets['known'],
    private readonly secrets: Source[],
  ) {}

  /** A path below the base URL. `//` would begin another host. */
  path(template: Template): string {
    const path = textOf(template, MARK)
    const [, before = '', query = ''] = /^([^?]*)(.*)$/s.exec(path) ?? []
    const segments = before.split('/').flatMap((segment, at, all) => {
      const noun = (all[at - 1] ?? '').replace(/s$/, '').replace(/\W+/g, '_')
      return [...(at > 0 ? ['/'] : []), ...this.#word(segment, `${noun}_id`)]
    })
    const parts = [...segments, ...this.#parameters(query)]
    return templateSource(/^\/(?![/\\])/.test(path) ? parts : [new Source('service.baseUrl'), ...parts])
  }

  body(template: Template): string {
    const isForm = template.some((part) => typeof part !== 'string' && part.inside === 'form')
    const text = textOf(template, HIDDEN)
    const json = isForm ? undefined : plainJson(text)
    if (json !== undefined) return `JSON.stringify(${valueSource(this.#value(json, ''))})`
    if (isForm || /^[\w.%+-]+=[^\s{]*$/.test(text)) return templateSource(this.#parameters(textOf(template, MARK)))
    return templateSource(template.map((part) => (typeof part === 'string' ? part : this.#next())))
  }

  #next = (): Source => this.secrets.shift() ?? new Source("''")

  #parameters = (text: string): (string | Source)[] =>
    text.split(/(?<=[?&])|(?=[?&])/).flatMap((part) => {
      const [, name, value] = /^([^=]*)=(.*)$/s.exec(part) ?? []
      return name === undefined || value === undefined ? [part] : [`${name}=`, ...this.#word(value, name)]
    })

  /** A segment of a path, or the value of a parameter. `field` is the name that it would have in a body. */
  #word(word: string, field: string): (string | Source)[] {
    if (word.includes(MARK))
      return filledParts(word, MARK, () => new Source(`encodeURIComponent(${this.#next().code})`))
    return [(/^\d+$/.test(word) ? this.known.number(Number(word), field) : this.known.text(word)) ?? word]
  }

  #value(value: unknown, name: string): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#value(each, name))
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([field, each]) => [field, this.#value(each, field)]))
    if (typeof value === 'number') return this.known.number(value, name) ?? value
    if (typeof value !== 'string') return value
    if (!value.includes(HIDDEN)) return this.known.text(value) ?? value
    return new Source(templateSource(filledParts(value, HIDDEN, this.#next)))
  }
}

const filledParts = (text: string, mark: string, next: () => Source): (string | Source)[] =>
  text.split(mark).flatMap((part, at) => (at === 0 ? [part] : [next(), part]))

/** The value of a JSON text that has another JSON text only in its spaces. */
function plainJson(text: string): object | undefined {
  const value = parsedJson(text)
  const bare = text.replace(/("(?:[^"\\]|\\[\s\S])*(?:"|\\?$))|\s+/g, '$1')
  return typeof value === 'object' && value !== null && JSON.stringify(value) === bare ? value : undefined
}
