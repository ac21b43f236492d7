import { refuseRedirect } from '../../../adapters/client/redirect.js'
import type { Entry } from '../../../src/sandbox/onion/entry.js'
import { lineOfEntry } from '../../../src/sandbox/tools/brief.js'
import { linesOfEntry } from '../../../src/sandbox/tools/lines.js'
import { Refusal } from '../../refusal.js'
import { callControls, type Outside, type RunningService, runningService } from '../running-service.js'
import { type EntryQuery, type FilterFlags, idOf, lastEntries, queryOf, wholeNumber } from './entries.js'

export const exportFormats = ['curl', 'http', 'har', 'vitest'] as const

export interface RequestsFlags extends FilterFlags {
  readonly as?: (typeof exportFormats)[number] | undefined
  /** The first and the last entry, by id or `last` and `last-error`. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** A number. Default: 20. */
  readonly limit?: string | undefined
  readonly follow?: boolean | undefined
  readonly json?: boolean | undefined
}

/**
 * Prints requests of a running sandbox, oldest first, or one of them with what was sent and answered. With `as`, prints them
 * for another tool. With `follow`, prints new ones until the signal. Throws `Refusal`.
 */
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
  const print = (entry: Entry) => outside.print(flags.json ? JSON.stringify(entry) : lineOfEntry(entry))
  if (flags.follow) return followEntries(running, { query, print, signal })
  const { limit = '20' } = flags
  for (const entry of await lastEntries(running, query, wholeNumber('--limit', limit))) print(entry)
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

interface Exporting {
  readonly running: RunningService
  readonly query: EntryQuery
  readonly outside: Outside
}

async function printExport(
  given: string | undefined,
  { as, from, to, limit = '20' }: RequestsFlags,
  { running, query, outside }: Exporting,
): Promise<void> {
  const { url, controlToken } = running
  const path = async (): Promise<string> => {
    if (given !== undefined) return `/${await idOf(given, running)}?as=${as}`
    const found =
      from !== undefined && to !== undefined ? [] : await lastEntries(running, query, wholeNumber('--limit', limit))
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
  { query, print, signal }: { query: EntryQuery; print: (entry: Entry) => void; signal: AbortSignal },
): Promise<void> {
  // Says at once if there is no sandbox.
  await callControls(running, () => running.service.requests.list({ limit: 1 }))
  try {
    for await (const entry of running.service.requests.follow(query, { signal }))
      if ('path' in entry) print(entry as Entry)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
