import { HIDDEN } from '../../../base/text/redacted.js'
import type { CallDraft, Template } from '../../replay/call-draft.js'
import type { CallerSource, CallerSources } from './caller-sources.js'
import type { KnownValues } from './known-values.js'
import type { SecretSources } from './secret-sources.js'
import { Source, templateSource, textSource, valueSource } from './source.js'

/** What a test has made and learnt by now. */
export interface TestSources {
  readonly known: KnownValues
  readonly callers: CallerSources
  readonly secrets: SecretSources
}

/** Code that sends a request, and the lines that must come before. */
export interface RequestSource {
  readonly before: readonly string[]
  readonly code: string
}

/** Headers that clients add by themselves, and that change nothing here. */
const OF_CLIENTS = /^(sec-|cache-control$|pragma$|priority$|dnt$|upgrade-insecure-requests$)/

const isOfClient = (name: string, value: string): boolean =>
  OF_CLIENTS.test(name) || (name === 'accept' && value === '*/*') || (name === 'accept-language' && value === '*')

/** Writes the request of an entry as a call of `service.fetch`. Throws `not_replayable`. */
export async function requestSource(draft: CallDraft, sources: TestSources): Promise<RequestSource> {
  const { caller, entry, method, body } = draft
  const called = await sources.callers.of(caller, entry)
  const before = [...called.before]
  const secrets: Source[] = []
  for (const part of [...draft.path, ...(body ?? [])]) {
    if (typeof part === 'string') continue
    const secret = await sources.secrets.of(part, draft, called)
    before.push(...secret.before)
    secrets.push(secret.source)
  }
  const next = () => secrets.shift() ?? new Source("''")
  const path = pathSource(draft.path, next, sources)
  const headers = headersSource(draft, called, sources)
  const init = [
    ...(method === 'GET' ? [] : [`method: ${textSource(method)}`]),
    ...(headers === undefined ? [] : [`headers: ${headers}`]),
    ...(body === null ? [] : [`body: ${bodySource(body, next, sources)}`]),
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
  { spread, headers: identifying = {} }: CallerSource,
  { known }: TestSources,
): string | undefined {
  const { 'idempotency-key': key } = entry.request.headers
  const sent = {
    ...identifying,
    ...Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) =>
        isOfClient(name, value) ? [] : [[name, known.text(value) ?? value]],
      ),
    ),
    ...(key !== undefined && { 'idempotency-key': key }),
  }
  const own = Object.keys(sent).length === 0 ? undefined : valueSource(sent)
  if (!spread) return own
  return own === undefined ? spread.code : own.replace(/^\{\s*/, (open) => `${open}...${spread.code}, `)
}

/** Stands for a secret while a text is divided. */
const MARK = '\uE000'

const marked = (template: Template): string => template.map((part) => (typeof part === 'string' ? part : MARK)).join('')

/** A path below the base URL. `//` would begin another host. */
function pathSource(template: Template, next: () => Source, sources: TestSources): string {
  const path = marked(template)
  const [, before = '', query = ''] = /^([^?]*)(.*)$/s.exec(path) ?? []
  const segments = before.split('/').flatMap((segment, at, all) => {
    const noun = (all[at - 1] ?? '').replace(/s$/, '').replace(/\W+/g, '_')
    return [...(at > 0 ? ['/'] : []), ...wordSource(segment, `${noun}_id`, next, sources)]
  })
  const isBelow = /^\/(?![/\\])/.test(path)
  const parts = [...segments, ...parametersSource(query, next, sources)]
  return templateSource(isBelow ? parts : [new Source('service.baseUrl'), ...parts])
}

/** A query or a form. */
const parametersSource = (text: string, next: () => Source, sources: TestSources): (string | Source)[] =>
  text.split(/(?<=[?&])|(?=[?&])/).flatMap((part) => {
    const [, name, value] = /^([^=]*)=(.*)$/s.exec(part) ?? []
    return name === undefined || value === undefined ? [part] : [`${name}=`, ...wordSource(value, name, next, sources)]
  })

/** A segment of a path, or the value of a parameter. `field` is the name that it would have in a body. */
function wordSource(word: string, field: string, next: () => Source, { known }: TestSources): (string | Source)[] {
  if (word.includes(MARK)) return word.split(MARK).flatMap((part, at) => (at === 0 ? [part] : [inUrl(next()), part]))
  const source = /^\d+$/.test(word) ? known.number(Number(word), field) : known.text(word)
  return [source ?? word]
}

const inUrl = ({ code }: Source): Source => new Source(`encodeURIComponent(${code})`)

function bodySource(template: Template, next: () => Source, sources: TestSources): string {
  const isForm = template.some((part) => typeof part !== 'string' && part.inside === 'form')
  const text = template.map((part) => (typeof part === 'string' ? part : HIDDEN)).join('')
  const json = isForm ? undefined : plainJson(text)
  if (json !== undefined) return `JSON.stringify(${valueSource(withSources(json, '', next, sources))})`
  if (isForm || /^[\w.%+-]+=[^\s{]*$/.test(text))
    return templateSource(parametersSource(marked(template), next, sources))
  return templateSource(template.map((part) => (typeof part === 'string' ? part : next())))
}

/** The value of a JSON text that has another JSON text only in its spaces. */
function plainJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const bare = text.replace(/("(?:[^"\\]|\\[\s\S])*(?:"|\\?$))|\s+/g, '$1')
    return typeof value === 'object' && value !== null && JSON.stringify(value) === bare ? value : undefined
  } catch {
    return undefined
  }
}

/** A body with code in place of what earlier answers told. */
function withSources(value: unknown, name: string, next: () => Source, sources: TestSources): unknown {
  if (Array.isArray(value)) return value.map((each) => withSources(each, name, next, sources))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([field, each]) => [field, withSources(each, field, next, sources)]),
    )
  if (typeof value === 'number') return sources.known.number(value, name) ?? value
  if (typeof value !== 'string') return value
  if (!value.includes(HIDDEN)) return sources.known.text(value) ?? value
  return new Source(templateSource(value.split(HIDDEN).flatMap((part, at) => (at === 0 ? [part] : [next(), part]))))
}
