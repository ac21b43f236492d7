import type { Entry } from '../../src/sandbox/onion/entry.js'
import { isRefused } from './stories.js'

/** Refused requests of one caller that failed in the same way: one cause, however often it happened. */
export interface Failure {
  /** Names it in an address. */
  readonly key: string
  readonly code: string
  readonly operation: string
  readonly principal: string | null
  /** Newest first. Never empty. */
  readonly entries: readonly Entry[]
}

const operationOf = ({ operation_id, method, path }: Entry): string => operation_id ?? `${method} ${path.split('?')[0]}`
const codeOf = ({ code, status }: Entry): string => code ?? (status === null ? 'no answer' : String(status))

/** Groups the refused among entries, which are newest first. The failure that happened last comes first. */
export function failuresIn(entries: readonly Entry[]): readonly Failure[] {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    if (!isRefused(entry)) continue
    const key = [codeOf(entry), operationOf(entry), entry.principal ?? 'guest'].join(' ')
    const group = groups.get(key)
    if (group) group.push(entry)
    else groups.set(key, [entry])
  }
  return [...groups].flatMap(([key, group]) => {
    const [last] = group
    if (!last) return []
    return [{ key, code: codeOf(last), operation: operationOf(last), principal: last.principal, entries: group }]
  })
}
