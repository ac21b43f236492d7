import { parsedJson } from '../../base/json.js'
import { load } from '../../base/parts.js'
import { Problem, problem } from '../../base/problem.js'
import { HIDDEN } from '../../base/text/redacted.js'
import { isVisible, visibleLine, visibleText } from '../../base/text/visible.js'
import { VERSION } from '../../base/version.js'
import type { ServiceContext } from '../../http/context.js'
import { checkOperation } from '../journal/filter.js'
import { type EntryFilter, matcher } from '../journal/journal.js'
import type { KeptEntry } from '../journal/kept-entry.js'
import { entryOf, openJournal } from '../journal/requests.js'
import type { Entry, JournalMessage } from '../onion/entry.js'
import {
  type CallDraft,
  draftOf,
  type EntryCaller,
  filledTemplate,
  type Secret,
  secretsIn,
  type Template,
  titleOf,
} from '../replay/call-draft.js'

/** Forms in which entries can be taken elsewhere. */
export type ExportFormat = 'curl' | 'http' | 'har' | 'vitest'

/** Entries from one to another, both included, or those of them that match. */
export interface EntryRange extends EntryFilter {
  readonly from: string
  readonly to: string
}

/**
 * Writes an entry or a range for another tool. Every character of it can be seen. Throws `not_found`, and for a test
 * `not_replayable`.
 */
export async function exportEntries(which: string | EntryRange, format: ExportFormat, service: ServiceContext) {
  const entries = await entriesOf(which, service)
  // In JSON and JavaScript an escape means its character. Calls for which that is not so are left out.
  return visibleText(await writers[format](entries, service))
}

const writers = {
  curl: curlExport,
  http: httpExport,
  har: harExport,
  vitest: async (entries: readonly KeptEntry[], service: ServiceContext) =>
    (await load(() => import('./vitest/test-file.js'))).vitestExport(entries, service),
}

async function entriesOf(which: string | EntryRange, service: ServiceContext) {
  if (typeof which === 'string') return [await entryOf(service, which)]
  const { from, to, ...filter } = which
  const entries = (await openJournal(service)).range(from, to)
  if (!entries) throw problem('not_found', { detail: 'The journal has no entry with one of these ids.' })
  const found = entries.filter(matcher(filter))
  if (found.length === 0) await checkOperation(filter, service)
  return found
}

/** Writes entries as an HTTP Archive (HAR 1.2). Secrets are not in it. */
function harExport(entries: readonly Entry[], { baseUrl }: { readonly baseUrl: string }): string {
  const calls = entries.filter(({ origin }) => origin !== 'timer' && origin !== 'delivery')
  const creator = { name: 'farthing', version: VERSION }
  const log = { version: '1.2', creator, entries: calls.map((each) => harEntry(each, baseUrl)) }
  return `${JSON.stringify({ log }, null, 2)}\n`
}

function harEntry({ id, at, ms, method, path, status, request, response }: Entry, baseUrl: string) {
  const query = path.includes('?') ? new URLSearchParams(path.replace(/^[^?]*\?/, '')) : []
  const time = ms ?? 0
  const text = response.body
  return {
    ...{ startedDateTime: at, time },
    request: {
      ...{ method, url: baseUrl + path, ...harMessage(request) },
      queryString: Array.from(query, ([name, value]) => ({ name, value })),
      ...(request.body !== null && { postData: { mimeType: typeOf(request), text: request.body } }),
    },
    response: {
      ...{ status: status ?? 0, statusText: '', ...harMessage(response) },
      content: { size: sizeOf(response), mimeType: typeOf(response), ...(text !== null && { text }) },
      redirectURL: response.headers.location ?? '',
    },
    ...{ cache: {}, timings: { send: 0, wait: time, receive: 0 } },
    comment: `${id}${request.cut || response.cut ? ', cut at 16 KiB' : ''}${status === null ? ', no answer' : ''}`,
  }
}

const harMessage = (message: JournalMessage) => ({
  ...{ httpVersion: 'HTTP/1.1', cookies: [], headersSize: -1, bodySize: sizeOf(message) },
  headers: Object.entries(message.headers).map(([name, value]) => ({ name, value })),
})

const sizeOf = ({ body }: JournalMessage): number => (body === null ? 0 : new TextEncoder().encode(body).length)
const typeOf = ({ headers }: JournalMessage): string => headers['content-type'] ?? 'application/json'

/** A variable of an export, in place of a secret. `hint`: a visible line that says how to get its value. */
interface Variable {
  readonly name: string
  readonly hint: string
}

/** A call whose parts are visible lines, as a command or a request file can hold them. */
interface WrittenCall extends Pick<CallDraft, 'method' | 'path' | 'headers' | 'body'> {
  /** Whether its body is JSON, in which every character may be an escape. */
  readonly isJson: boolean
  readonly credential: { readonly header: string; readonly before: string; readonly variable: Variable } | undefined
  readonly variables: readonly Variable[]
  variableOf(secret: Secret): Variable
}

/** Writes calls as commands of a POSIX shell. Secrets are environment variables. */
function curlExport(entries: readonly Entry[], { baseUrl }: { readonly baseUrl: string }): string {
  const url = `FARTHING_URL=\${FARTHING_URL:-${shellQuoted(baseUrl)}}`
  const commands = writtenCalls(entries).map(({ title, call }) =>
    typeof call === 'string' ? `# ${title}\n# Left out. ${call}` : [`# ${title}`, ...curlCommand(call)].join('\n'),
  )
  return `${[url, ...commands].join('\n\n')}\n`
}

function curlCommand({ method, path, headers, body, credential, variables, variableOf }: WrittenCall): string[] {
  const text = (template: Template) =>
    template.map((part) => (typeof part === 'string' ? shellQuoted(part) : `"$${variableOf(part).name}"`)).join('')
  const parts = [
    // Brackets and braces in a URL are no patterns.
    `curl -sS --globoff ${method === 'HEAD' ? '--head' : `-X ${shellQuoted(method)}`} "$FARTHING_URL"${text(path)}`,
    ...(credential
      ? [`-H ${shellQuoted(`${credential.header}: ${credential.before}`)}"$${credential.variable.name}"`]
      : []),
    ...Object.entries(headers).map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...(body ? [`--data-raw ${text(body)}`] : []),
  ]
  const hints = variables.map(({ name, hint }) => `# ${name}: ${hint.replaceAll('{url}', '$FARTHING_URL')}`)
  return [...hints, parts.join(' \\\n  ')]
}

/** A shell takes every character in single quotes as it is. */
const shellQuoted = (text: string): string => (text === '' ? '' : `'${text.replaceAll("'", `'\\''`)}'`)

/** Writes calls as a file of the REST clients of VS Code and JetBrains. Secrets are variables at its beginning. */
function httpExport(entries: readonly Entry[], { baseUrl }: { readonly baseUrl: string }): string {
  const calls = writtenCalls(entries)
  const variables = calls.flatMap(({ call }) => (typeof call === 'string' ? [] : call.variables))
  const head = [...new Map(variables.map((each) => [each.name, each])).values()].flatMap(({ name, hint }) => [
    ...[httpComment(hint.replaceAll('{url}', baseUrl)), `@${name} =`],
  ])
  const requests = calls.map(({ title, call }) => {
    const reason = typeof call === 'string' ? call : whyNoHttp(call)
    const lines = typeof call === 'string' || reason ? [httpComment(`Left out. ${reason}`)] : httpRequest(call)
    return [`##${httpComment(title)}`, ...lines].join('\n')
  })
  return `${[[`@url = ${baseUrl}`, ...head].join('\n'), ...requests].join('\n\n')}\n`
}

function httpRequest({ method, path, headers, body, credential, variableOf }: WrittenCall): string[] {
  // Writes the first of two braces as an escape, of an address or of JSON: there, two stand together only within a text. A
  // variable begins with braces too.
  const text = (template: Template, brace: string) =>
    template
      .map((part, at) => {
        if (typeof part !== 'string') return `{{${variableOf(part).name}}}`
        return part.replace(at + 1 < template.length ? /\{(?=\{|$)/g : /\{(?=\{)/g, brace)
      })
      .join('')
  return [
    `${method} {{url}}${text(path, '%7b')}`,
    ...(credential ? [`${credential.header}: ${credential.before}{{${credential.variable.name}}}`] : []),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body ? ['', text(body, '\\u007b')] : []),
  ]
}

/** These clients run what is in `{{}}`, and lines of a body that begin with `<` or `>` name a file or a script. */
function whyNoHttp({ headers, body, credential, isJson }: WrittenCall): string | undefined {
  if ([...Object.values(headers), credential?.before ?? ''].some((value) => value.includes('{{')))
    return 'One of its headers has no form in such a file.'
  const [first = ''] = body ?? []
  const isWritable = typeof first !== 'string' || first === '' || /^[\w%{["-]/.test(first)
  const hasTemplate = body?.some((part) => typeof part === 'string' && part.includes('{{')) ?? false
  return isWritable && (isJson || !hasTemplate) ? undefined : 'Its body has no form in such a file.'
}

/** A line that no client obeys. */
const httpComment = (text: string): string => `# ${text.replace(/\{(?=\{)/g, '{ ')}`

/** Each call that an export can hold, or the visible line that says why it is left out. Timers and deliveries are no calls. */
const writtenCalls = (entries: readonly Entry[]) =>
  entries
    .filter(({ origin }) => origin !== 'timer' && origin !== 'delivery')
    .map((entry) => ({ title: titleOf(entry), call: writtenCall(entry) }))

function writtenCall(entry: Entry): WrittenCall | string {
  try {
    const draft = draftOf(entry)
    const reason = whyUnwritable(draft)
    if (reason !== undefined) return reason
    const { method, path, headers, body, caller } = draft
    const isJson = isJsonText(textOf(draft))
    const credential = credentialOf(caller)
    const number = entry.id.replace(/^.*_0*/, '')
    const variableOf = ({ name, field }: Secret): Variable => ({
      name: `${variableName(name) || 'SECRET'}_${number}`,
      hint: visibleLine(`the value of \`${field}\`, which the journal does not keep`),
    })
    return {
      ...{ method, headers, isJson, credential, variableOf },
      path: path.map(inText(encodedPath)),
      // Between the parts of JSON, line breaks and tabs are only spaces, and in its texts any escape means its character.
      body: body && isJson ? body.map(inText((part) => visibleLine(part.replace(/[\n\r\t]/g, ' ')))) : body,
      variables: [...(credential ? [credential.variable] : []), ...secretsIn(draft).map(variableOf)],
    }
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_replayable') return visibleLine(error.message)
    throw error
  }
}

function whyUnwritable(draft: CallDraft): string | undefined {
  const { method, path, headers } = draft
  if (!/^[A-Z]{1,20}$/.test(method)) return 'Its method has no form in such a file.'
  if (typeof path[0] !== 'string' || !path[0].startsWith('/')) return 'Its path has no form in such a file.'
  if (Object.entries(headers).some(([name, value]) => !/^[a-z][\w-]*$/.test(name) || !isVisible(value)))
    return 'One of its headers has no form in such a file.'
  const text = textOf(draft)
  return isJsonText(text) || isVisible(text) ? undefined : 'Its body has no form in such a file.'
}

const textOf = ({ body }: CallDraft): string => (body === null ? '' : filledTemplate(body, () => HIDDEN))

const inText =
  (written: (text: string) => string) =>
  (part: Template[number]): Template[number] =>
    typeof part === 'string' ? written(part) : part

/** What can be seen stays as it was sent: an escape is another address. */
const encodedPath = (text: string): string =>
  text.toWellFormed().replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(character))

const isJsonText = (text: string): boolean => parsedJson(text) !== undefined
const variableName = (text: string): string => text.toUpperCase().replace(/\W+/g, '_')
const TOKEN_CALL = 'POST {url}/v4/{of}/oauth/token with client credentials (farthing prints seeded ones when it starts)'

function credentialOf(caller: EntryCaller): WrittenCall['credential'] {
  if (caller.kind === 'none') return undefined
  if (caller.kind !== 'session') {
    const [before, name, hint] = authorizationOf(caller)
    return { header: 'authorization', before, variable: { name, hint } }
  }
  const { userId } = caller
  const from = userId === null ? 'GET {url}/v4/session' : 'POST {url}/_sandbox/sign-in with their email'
  const name = `SESSION_${userId === null ? 'GUEST' : `USER_${userId}`}`
  return { header: 'x-session-id', before: '', variable: { name, hint: `session_id, from ${from}` } }
}

/** The scheme, and the name and the hint of the variable behind it. */
function authorizationOf(
  caller: Exclude<EntryCaller, { kind: 'none' | 'session' }>,
): readonly [string, string, string] {
  if (caller.kind === 'token') {
    const { of, id } = caller
    const from = of === 'agent' ? 'POST {url}/v4/oidc/token' : TOKEN_CALL.replace('{of}', of)
    return ['Bearer ', `TOKEN_${of.toUpperCase()}_${id}`, `access token of ${of}:${id}, from ${from}`]
  }
  if (caller.kind === 'refresh') return ['Bearer ', 'REFRESH_TOKEN', 'a refresh token, which is spent when it is used']
  if (caller.kind === 'wrong')
    return [`${caller.scheme} `, 'REFUSED_CREDENTIAL', 'a credential that is refused, as it was']
  const { clientId } = caller
  return ['Basic ', `BASIC_${variableName(clientId)}`, `base64 of ${visibleLine(clientId)}:<client secret>`]
}
