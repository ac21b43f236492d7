import type { Json } from '../../agents/mcp/tools/tool.js'
import { visibleLine } from '../../base/text/visible.js'
import { isOfForeignPage } from '../journal/foreign-page.js'
import type { Entry } from '../onion/entry.js'

/** The longest text and list in an answer. A model reads all of it. */
const LONGEST_TEXT = 1000
const LONGEST_LIST = 20
const LONGEST_NAME = 200

/**
 * The answer as it leaves for an agent: texts and names of fields are visible lines, and long texts and lists are cut. If one
 * was, it has `cut`, which says where the rest is.
 */
export function shortened(answer: object): Json {
  let isCut = false
  const shorten = (value: unknown): unknown => {
    if (typeof value === 'string') {
      isCut ||= value.length > LONGEST_TEXT
      return cutText(value, LONGEST_TEXT)
    }
    if (Array.isArray(value)) {
      isCut ||= value.length > LONGEST_LIST
      return value.slice(0, LONGEST_LIST).map(shorten)
    }
    if (typeof value !== 'object' || value === null) return value
    const fields = Object.entries(value).map(([name, each]) => [cutText(name, LONGEST_NAME), shorten(each)])
    return Object.fromEntries(fields)
  }
  const short = Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, shorten(value)]))
  return isCut
    ? { ...short, cut: 'Long texts and lists are cut. The controls under /_sandbox show them whole.' }
    : short
}

/** A visible line, without what is too long. */
export function cutText(text: string, longest: number): string {
  const plain = visibleLine(text)
  return plain.length <= longest ? plain : `${plain.slice(0, longest)}… (${plain.length - longest} more characters)`
}

/** What an agent first wants to know of an entry. */
export const briefEntry = (entry: Entry) => ({
  id: entry.id,
  at: entry.at,
  operation_id: entry.operation_id,
  method: entry.method,
  path: entry.path,
  status: entry.status,
  ...(entry.code !== undefined && { code: entry.code }),
  principal: entry.principal,
  ...('idempotency-key' in entry.request.headers && {
    idempotency_key: entry.request.headers['idempotency-key'],
  }),
  caused: entry.caused,
  ...(entry.caused_by !== undefined && { caused_by: entry.caused_by }),
  ...(entry.fault !== undefined && { fault: entry.fault }),
})

/** An entry with what was sent and answered. */
export const wholeEntry = (entry: Entry) => ({
  ...briefEntry(entry),
  request: entry.request.body,
  response: entry.response.body,
})

/** `req_1f_0000012 POST /v4/payment/… → 402 insufficient_funds, by user:2`. */
export function lineOfEntry(entry: Entry): string {
  const { id, method, path, status, code, principal } = entry
  const outcome = status === null ? 'no answer' : [status, code].filter(Boolean).join(' ')
  const by = principal === null ? '' : `, by ${principal}`
  return `${id} ${method} ${cutText(path, 200)} → ${outcome}${by}${isOfForeignPage(entry) ? ', from a page of another site' : ''}`
}
