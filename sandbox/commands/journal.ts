import { refuseRedirect } from '../../adapters/client/request.js'
import { withoutUndefined } from '../../src/base/json.js'
import {
  isProblemCode,
  type ProblemCode,
  problemCodes,
  problemSentence,
  problemStatus,
} from '../../src/base/problem.js'
import { nearestName } from '../../src/base/text/nearest-name.js'
import { errorText } from '../../src/http/error-pages/error-texts.js'
import type { Explanation } from '../../src/sandbox/explain/facts/explanation.js'
import { isOfForeignPage } from '../../src/sandbox/journal/foreign-page.js'
import type { Entry } from '../../src/sandbox/onion/entry.js'
import type { Replay } from '../../src/sandbox/replay/replay.js'
import { lineOfEntry, linesOfEntry, linesOfExplanation, linesOfReplay } from '../../src/sandbox/tools/sandbox-tool.js'
import { Refusal } from '../refusal.js'
import {
  callControls,
  type Outside,
  type RunningService,
  runningService,
  type ServiceFlags,
} from './running-service.js'

export const exportFormats = ['curl', 'http', 'har', 'vitest'] as const

type Texts<Names extends string> = { readonly [Name in Names]?: string | undefined }
type Switches<Names extends string> = { readonly [Name in Names]?: boolean | undefined }

/** `from` and `to` are ids, `last` or `last-error`. `status` and `limit` are numbers. */
export type RequestsFlags = ServiceFlags &
  Texts<'operation' | 'status' | 'principal' | 'q' | 'from' | 'to' | 'limit'> &
  Switches<'follow' | 'json' | 'all'> & { readonly as?: (typeof exportFormats)[number] | undefined }

/** Prints requests, the oldest first, or one. `as`: for another tool. `follow`: new ones until the signal. Throws `Refusal`. */
export async function requests(
  given: string | undefined,
  flags: RequestsFlags,
  outside: Outside,
  signal: AbortSignal,
): Promise<void> {
  refuseContradictions(given, flags)
  const running = runningService(flags, outside)
  const query = queryOf(flags)
  if (flags.as !== undefined) return printExport(given, { ...flags, as: flags.as }, { running, query, outside })
  if (given !== undefined) {
    const id = await idOf(given, running)
    const entry = (await callControls(running, () => running.service.requests.read(id))) as Entry
    if (flags.json) return outside.print(JSON.stringify(entry))
    for (const line of linesOfEntry(entry)) outside.print(line)
    return
  }
  const polls = flags.all || flags.json ? undefined : new Polls()
  const print = (entry: Entry) => outside.print(flags.json ? JSON.stringify(entry) : timedLine(entry))
  if (flags.follow)
    await followEntries(running, { query, signal, print: (entry) => polls?.leavesOut(entry) || print(entry) })
  else {
    const most = wholeNumber('--limit', flags.limit ?? '20')
    for (const entry of await lastEntries(running, query, { most, polls })) print(entry)
  }
  if (polls?.count)
    outside.print(`${polls.count} repeated ${polls.count === 1 ? 'read is' : 'reads are'} left out. --all shows them.`)
}

/** `12:03:04.512 req_… GET /v4/dq → 200, 3.1 ms`. */
function timedLine(entry: Entry): string {
  const took = entry.ms === null ? '' : `, ${entry.ms.toFixed(1)} ms`
  return `${entry.at.slice(11, 23)} ${lineOfEntry(entry)}${took}`
}

/** Leaves out what a caller reads again and again while the answer stays the same. */
class Polls {
  readonly #answers = new Map<string, string>()
  count = 0

  leavesOut({ method, path, principal, status, code, response }: Entry): boolean {
    if (method !== 'GET' && method !== 'HEAD') return false
    const read = JSON.stringify([method, path, principal])
    const answer = JSON.stringify([status, code, response.body])
    if (this.#answers.get(read) === answer) return ++this.count > 0
    this.#answers.set(read, answer)
    return false
  }
}

function refuseContradictions(given: string | undefined, flags: RequestsFlags): void {
  const refuse = (one: string, other: string) => {
    throw new Refusal(`${one} and ${other} contradict each other: choose one of them`)
  }
  const { as, from, to, follow, json, limit } = flags
  if (follow && as !== undefined) refuse('--follow', '--as')
  if (follow && limit !== undefined) refuse('--follow', '--limit')
  if (json && as !== undefined) refuse('--json', '--as')
  if (given !== undefined && follow) refuse('an id', '--follow')
  if (given !== undefined && (from ?? to) !== undefined) refuse('an id', '--from and --to')
  if (as === undefined && (from ?? to) !== undefined)
    throw new Refusal('--from and --to need --as, such as --as vitest')
}

async function printExport(
  given: string | undefined,
  { as, from, to, limit = '20' }: RequestsFlags,
  { running, query, outside }: { running: RunningService; query: EntryQuery; outside: Outside },
): Promise<void> {
  const { url, controlToken } = running
  const path = async (): Promise<string> => {
    if (given !== undefined) return `/${await idOf(given, running)}?as=${as}`
    const found =
      from !== undefined && to !== undefined
        ? []
        : await lastEntries(running, query, { most: wholeNumber('--limit', limit) })
    const first = from === undefined ? found[0]?.id : await idOf(from, running)
    const last = to === undefined ? found.at(-1)?.id : await idOf(to, running)
    if (first === undefined || last === undefined)
      throw new Refusal(`the journal of ${url} has no request that matches`)
    const fields = { as, from: first, to: last, ...query }
    return `?${new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)]))}`
  }
  const address = `${url}/_sandbox/requests${await path()}`
  const headers: Record<string, string> = controlToken === undefined ? {} : { 'x-control-token': controlToken }
  const text = await callControls(running, async () => {
    const answer = await outside.fetch(address, { headers, redirect: 'manual' })
    refuseRedirect(address, answer)
    const body = await answer.text()
    if (answer.ok) return body
    const { error = `It answered ${answer.status}.` }: { error?: string } = JSON.parse(body)
    throw new Refusal(`${url} cannot export this: ${error}`)
  })
  outside.printText(text)
}

async function followEntries(
  running: RunningService,
  { query, print, signal }: { query: EntryQuery; print: (entry: Entry) => unknown; signal: AbortSignal },
): Promise<void> {
  try {
    // Says at once if there is no sandbox, or nothing that can match.
    await callControls(running, () => running.service.requests.list({ ...query, limit: 1 }))
    for await (const entry of running.service.requests.follow(query, { signal }))
      if ('path' in entry) print(entry as Entry)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Prints what an error code means, its causes and what fixes it. Needs no sandbox. */
function printCode(code: ProblemCode, { print }: Outside): void {
  const { meaning, causes, fixes } = errorText(code)
  print(`${problemStatus(code)} ${code}: ${problemSentence(code)}`)
  const lines = ['', meaning, '', 'Usual causes:', ...causes.map(listed), '', 'How to fix it:', ...fixes.map(listed)]
  for (const line of lines) print(line)
}

const listed = (line: string): string => `- ${line}`

export type ExplainFlags = ServiceFlags & Switches<'json'>

export async function explain(
  given: string,
  { json = false, ...flags }: ExplainFlags,
  outside: Outside,
): Promise<void> {
  if (isProblemCode(given)) return printCode(given, outside)
  const running = runningService(flags, outside)
  const id = await idOf(given, running, problemCodes)
  // JSON holds nothing undefined.
  const explanation = (await callControls(running, () => running.service.requests.explain(id))) as Explanation & {
    entry: Entry
  }
  if (json) return outside.print(JSON.stringify(explanation))
  for (const line of [lineOfEntry(explanation.entry), '', explanation.verdict, ...linesOfExplanation(explanation)])
    outside.print(line)
}

export type ReplayFlags = ServiceFlags &
  Switches<'diff' | 'strict' | 'json'> & { readonly in?: 'fork' | 'place' | undefined }

/** Prints what comes of a request that is sent again. With `diff`, exits with 1 if something differs. Throws `Refusal`. */
export async function replay(given: string, flags: ReplayFlags, outside: Outside): Promise<void> {
  const { in: place = 'fork', strict = false, diff = strict, json = false } = flags
  const running = runningService(flags, outside)
  const id = await idOf(given, running)
  const order = { in: place, diff, strict }
  // JSON holds nothing undefined.
  const replayed = (await callControls(running, () => running.service.requests.replay(id, order))) as Replay
  if (json) outside.print(JSON.stringify(replayed))
  else for (const line of [`${id} again, as ${replayed.entry.id}.`, ...linesOfReplay(replayed)]) outside.print(line)
  if (diff && ((replayed.diff ?? []).length > 0 || !replayed.effects.same)) process.exitCode = 1
}

const queryOf = ({ operation, status, principal, q }: RequestsFlags) =>
  withoutUndefined({
    operation_id: operation,
    status: status === undefined ? undefined : wholeNumber('--status', status),
    principal,
    q,
  })

type EntryQuery = ReturnType<typeof queryOf>

export function wholeNumber(flag: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new Refusal(`${flag} must be a number, not ${JSON.stringify(text)}`)
}

/** How many entries one call reads, and how many are looked at for the last one. */
const PAGE = 500
const MOST_SEEN = 5000

async function* newestEntries(running: RunningService, query: EntryQuery): AsyncGenerator<Entry> {
  let after: string | undefined
  for (let seen = 0; seen < MOST_SEEN; seen += PAGE) {
    const page = await callControls(running, () =>
      running.service.requests.list({ ...query, limit: PAGE, ...withoutUndefined({ after }) }),
    )
    // JSON holds nothing undefined.
    yield* page.requests as Entry[]
    if (page.next === null) return
    after = page.next
  }
}

async function lastEntries(
  running: RunningService,
  query: EntryQuery,
  { most, polls }: { readonly most: number; readonly polls?: Polls | undefined },
): Promise<Entry[]> {
  const found: Entry[] = []
  for await (const entry of newestEntries(running, query)) {
    if (polls?.leavesOut(entry)) continue
    if (found.push(entry) === most) break
  }
  return found.reverse()
}

const isRequest = (entry: Entry): boolean =>
  entry.origin !== 'timer' && entry.origin !== 'delivery' && !isOfForeignPage(entry)

/** What stands for an id. Calls of the controls, such as those of the dashboard, are not what a user asks for. */
const named: Readonly<Record<string, (entry: Entry) => boolean>> = {
  last: (entry) => isRequest(entry) && !entry.path.startsWith('/_sandbox/'),
  'last-error': (entry) => isRequest(entry) && (entry.status ?? 0) >= 400 && !entry.path.startsWith('/_sandbox/mcp'),
}

/** The id that a user means: `last`, `last-error`, or an id. `more`: what else could be meant. Throws `Refusal`. */
export async function idOf(given: string, running: RunningService, more: readonly string[] = []): Promise<string> {
  const fits = named[given]
  if (!fits) return checkedId(given, [...Object.keys(named), ...more])
  for await (const entry of newestEntries(running, {})) if (fits(entry)) return entry.id
  throw new Refusal(`the journal of ${running.url} has no ${given === 'last' ? 'request yet' : 'refused request'}`)
}

function checkedId(given: string, names: readonly string[]): string {
  if (/^req_[\w-]+$/.test(given)) return given
  const near = nearestName(given, names)
  const meant = near === undefined ? '' : `. Did you mean "${near}"?`
  throw new Refusal(
    `${JSON.stringify(given)} is no id of a request, such as an X-Request-ID: choose one from farthing requests, or last or last-error${meant}`,
  )
}

/** Resets the running sandbox to its seed. Throws `Refusal`. */
export async function reset(flags: ServiceFlags, outside: Outside): Promise<void> {
  const running = runningService(flags, outside)
  await callControls(running, () => running.service.sandbox.reset({}))
  outside.print(`${running.url} is reset to its seed.`)
}
