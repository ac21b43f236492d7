import { parsedJson } from '../../base/json.js'
import { isObject } from '../../storage/unknown.js'
import type { Sandbox } from '../controls/sandbox.js'
import { marksOfPayment, type PaymentMarks, readMarks } from '../journal/sent-payment.js'
import type { Entry } from '../onion/entry.js'
import { isOfSignature } from './intents.js'
import type { CallOutcome, RehearsedCall, RehearsedDelivery, RehearsedPayment, RunEnd, RunRecord } from './record.js'

/** What of a sandbox tells what a run did. */
export type ObservedSandbox = Pick<Sandbox, 'requests' | 'rows' | 'credentials'>

type ShownRow = Readonly<Record<string, unknown>>
type Json = Readonly<Record<string, unknown>>

/** Where a run begins. */
interface RunStart {
  readonly entry: string | undefined
  readonly payments: number
  readonly transfers: number
  readonly events: number
}

export async function runStart({ requests, rows }: ObservedSandbox): Promise<RunStart> {
  const last = async (name: string) => Number((await rows(name, { limit: 1 })).rows[0]?.id ?? 0)
  const [entry] = (await requests.list({ limit: 1 })).requests
  const [payments, transfers, events] = [await last('payments'), await last('transfers'), await last('events')]
  return { entry: entry?.id, payments, transfers, events }
}

/** Reads the journal and the ledger of a sandbox since the start of a run. */
export async function recordRun(
  sandbox: ObservedSandbox,
  start: RunStart,
  { ended, output }: { readonly ended: RunEnd; readonly output: string },
): Promise<RunRecord> {
  const entries = await entriesSince(sandbox, start.entry)
  const events = await rowsSince(sandbox, 'events', start.events)
  const paid = await rowsSince(sandbox, 'payments', start.payments)
  const transfers = await rowsSince(sandbox, 'transfers', start.transfers)
  const paymentOfEvent = new Map(events.map(({ id, subject }) => [String(id), String(subject)]))
  const callOf = (row: ShownRow, subject: string) => {
    const made = entries.find(({ caused }) =>
      caused.some(
        ({ kind, id }) =>
          (kind === 'movement' && row.movement_id !== null && String(id) === String(row.movement_id)) ||
          (kind === 'event' && paymentOfEvent.get(String(id)) === subject),
      ),
    )
    return made && originOf(made, entries)
  }
  const asPayment = (kind: 'payment' | 'transfer') => (row: ShownRow) => {
    const call = callOf(row, `${kind}:${row.id}`)
    const status = kind === 'payment' ? (row.status as RehearsedPayment['status']) : statusOfTransfer(row)
    const payer = (call && payerOf(call)) ?? String(row.payer_owner ?? row.sender_owner)
    return {
      ...{ id: `${kind}:${row.id}`, call: call?.id, item: call ? itemOf(call) : String(row.hash ?? row.descriptor) },
      ...{ payer, amount: String(row.amount), status },
    }
  }
  const { accounts, users } = await sandbox.credentials()
  return {
    calls: entries.filter(isCall).map((entry) => callOfEntry(entry, !ended.isOk)),
    payments: [...paid.map(asPayment('payment')), ...transfers.map(asPayment('transfer'))],
    deliveries: entries.filter(isDelivery).map(deliveryOf),
    ...{ ended, output, secrets: [...accounts, ...users].map(({ client_secret }) => client_secret) },
  }
}

const statusOfTransfer = ({ status }: ShownRow): RehearsedPayment['status'] =>
  status === 'cancelled' || status === 'expired' ? 'reversed' : 'posted'

/** The call behind work that follows from it, such as the charge of a card. */
function originOf(entry: Entry, entries: readonly Entry[]): Entry {
  const cause = isCall(entry) ? undefined : entries.find(({ id }) => id === entry.caused_by)
  return cause ? originOf(cause, entries) : entry
}

async function entriesSince({ requests }: ObservedSandbox, first: string | undefined): Promise<Entry[]> {
  const found: Entry[] = []
  let after: string | undefined
  for (;;) {
    const page = await requests.list({ limit: 1000, ...(after !== undefined && { after }) })
    const place = page.requests.findIndex(({ id }) => id === first)
    found.push(...(place < 0 ? page.requests : page.requests.slice(0, place)))
    if (place >= 0 || page.next === null) return found.reverse()
    after = page.next
  }
}

/** The rows of a collection whose ids are higher, oldest first. */
async function rowsSince({ rows }: ObservedSandbox, name: string, last: number): Promise<ShownRow[]> {
  const found: ShownRow[] = []
  let after: string | undefined
  for (;;) {
    const page = await rows(name, { ...(after !== undefined && { after }) })
    const newer = page.rows.filter(({ id }) => Number(id) > last)
    found.push(...newer)
    if (newer.length < page.rows.length || page.next === null) return found.reverse()
    after = page.next
  }
}

const isCall = ({ origin, operation_id, path }: Entry): boolean =>
  operation_id !== null && origin !== 'timer' && origin !== 'delivery' && !path.startsWith('/_sandbox/')

const DELIVERED = 'client.delivered'

const isDelivery = (entry: Entry): boolean =>
  entry.operation_id === 'createEvent' &&
  entry.status !== null &&
  entry.status < 300 &&
  objectOf(entry.request.body)?.type === DELIVERED

function deliveryOf({ request }: Entry): RehearsedDelivery {
  const given = objectOf(request.body)?.data as Json | undefined
  return { item: typeof given?.item === 'string' ? given.item : undefined }
}

function callOfEntry(entry: Entry, hasFailed: boolean): RehearsedCall {
  const { id, operation_id, method, path, request, response, fault } = entry
  const sent = objectOf(request.body)
  const { status, code, answer } = callAnswer(entry)
  const isReplay = response.headers['idempotent-replayed'] !== undefined
  const isLate = hasFailed && fault?.endsWith('_slow')
  const isRefused = status !== null && status >= 400 && status < 500
  const identifiers = identifiersOf(entry)
  const namesPrice = sent?.cost !== undefined || sent?.price !== undefined || sent?.amount !== undefined
  return {
    ...{ id, operation: operation_id ?? '', method, path, item: itemOf(entry), payer: payerOf(entry), status },
    ...{ code, fault, identifiers },
    isSigned: /^Bearer /.test(request.headers.authorization ?? '') || request.headers['x-session-id'] !== undefined,
    statesPrice: namesPrice || identifiers.some(isOfSignature),
    shownPrices: isRefused ? {} : pricesIn(answer),
    shownPayments: isRefused ? [] : paymentsIn(answer),
    outcome: isLate ? 'unknown' : outcomeOf({ status, code, answer }),
    isKeySpent: SPENT.has(code) || (isReplay && isRefused),
    contradicts: status !== null && status < 300 && answer?.success === false,
  }
}

interface CallAnswer {
  readonly status: number | null
  readonly code: string | undefined
  readonly answer: Json | undefined
}

/** A tool call that is refused has a status of 200, and says in its body what HTTP would say. */
function callAnswer({ status, code, request, response }: Entry): CallAnswer {
  const answer = objectOf(response.body)
  const tool = sentTool(objectOf(request.body)) && status === 200 ? answeredTool(answer) : undefined
  if (!tool) return { status, code, answer }
  return { status: tool.refusal?.status ?? status, code: tool.refusal?.code ?? code, answer: tool.content }
}

const SPENT: ReadonlySet<string | undefined> = new Set(['idempotency_mismatch', 'payment_identifier_mismatch'])

function identifiersOf({ request }: Entry): string[] {
  const { payer: _, ...marks } = marksOf(request)
  const named = Object.entries({ key: request.headers['idempotency-key'], ...marks })
  return named.flatMap(([name, value]) => (value === undefined ? [] : [`${name}:${value}`]))
}

/** What signs for a payment pays, whoever brings it. */
const payerOf = ({ request, principal }: Entry): string | null => marksOf(request).payer ?? principal

function marksOf({ headers, body }: Entry['request']): PaymentMarks {
  const ofBody = objectOf(body)
  const ofTool = sentTool(ofBody)
  if (ofTool) return marksOfPayment(ofTool.payment)
  if (ofBody?.paymentPayload !== undefined) return marksOfPayment(ofBody)
  const { authorization = '', 'payment-signature': signed, 'x-payment': signedV1 } = headers
  return readMarks(signed ?? signedV1 ?? (/^payment /i.test(authorization) ? authorization : ''))
}

function outcomeOf({ status, code, answer }: CallAnswer): CallOutcome {
  if (code === 'idempotency_in_progress' || answer?.errorReason === 'settlement_pending') return 'pending'
  if (status === null || status >= 500 || status === 429 || code === 'storage_unavailable') return 'unknown'
  if (status >= 400 || answer?.success === false) return 'refused'
  return status < 300 && (answer?.status === 'pending' || answer?.status === 'held') ? 'pending' : 'done'
}

const withoutPrice = new Set([
  'cost',
  'quote',
  'approval_id',
  'price',
  'dq',
  'persona_delegate',
  'public_secret',
  'nonce',
  'timestamp',
])

/** What a call is about: its path and body, without the price that its caller saw, and without its signature. */
function itemOf({ path, request }: Entry): string {
  const body = objectOf(request.body) ?? {}
  const place = path.replace(/#.*/, '')
  if (body.paymentPayload !== undefined) return `${place} ${JSON.stringify(settledItem(body))}`
  const tool = sentTool(body)
  if (tool) return `${place} ${tool.name} ${JSON.stringify(itemFields(tool.args))}`
  const sent = itemFields(body)
  return Object.keys(sent).length === 0 ? place : `${place} ${JSON.stringify(sent)}`
}

const itemFields = (sent: Json): Json =>
  Object.fromEntries(
    Object.entries(sent)
      .filter(([name]) => !withoutPrice.has(name))
      .sort(byName),
  )

/** What a shop has settled: for which resource, and to whom. The shop may stand at another port in each run. */
function settledItem({ paymentPayload, paymentRequirements }: Json) {
  const due = paymentRequirements as Json | undefined
  const resource = (paymentPayload as Json | null)?.resource ?? due?.resource
  const url = String((resource as Json | null)?.url ?? resource ?? '')
  return [url.replace(/^https?:\/\/[^/]+/, ''), due?.payTo ?? null]
}

const byName = ([one]: [string, unknown], [other]: [string, unknown]): number => (one < other ? -1 : 1)

/** Undefined for what is no object, and for what is cut. */
function objectOf(text: string | null): Json | undefined {
  const value = text === null ? undefined : parsedJson(text)
  return isObject(value) ? value : undefined
}

function pricesIn(answer: unknown): Record<string, number> {
  const found: Record<string, number> = {}
  eachObject(answer, ({ hash, id, cost, price }) => {
    const shown = Number(cost ?? price ?? Number.NaN)
    if (!Number.isNaN(shown)) found[String(hash ?? id)] = shown
  })
  return found
}

function paymentsIn(answer: unknown): string[] {
  const found: string[] = []
  eachObject(answer, ({ id, kind, amount, address, subject }) => {
    // An event names what it is about.
    if (typeof subject === 'string' && /^(?:payment|transfer):/.test(subject)) found.push(subject)
    if (id === undefined || amount === undefined) return
    if (address !== undefined) found.push(`transfer:${id}`)
    else if (kind !== undefined) found.push(`payment:${id}`)
  })
  return found
}

function eachObject(value: unknown, visit: (object: Json) => void): void {
  if (value === null || typeof value !== 'object') return
  if (!Array.isArray(value)) visit(value as Json)
  for (const part of Object.values(value)) eachObject(part, visit)
}

/** How tool calls of MCP are made and answered: what HTTP says in its path and its status stands in JSON-RPC messages. */

/** The operations that take messages of MCP. Whatever a message asks for, its answer has a status of 200. */
export const MCP_OPERATIONS: ReadonlySet<string> = new Set(['callMcp', 'callAccountMcp'])

/** The tool call in a body, with its payment of x402 or its credential of MPP. Undefined for other messages. */
function sentTool(body: Json | undefined) {
  if (body?.method !== 'tools/call') return undefined
  const { name, arguments: args, _meta } = objectIn(body.params)
  const meta = objectIn(_meta)
  const payment = meta['x402/payment'] ?? meta['org.paymentauth/credential']
  return { name: String(name), args: objectIn(args), payment: isObject(payment) ? payment : undefined }
}

interface AnsweredTool {
  /** What HTTP would say. Undefined if it worked. */
  readonly refusal: { readonly status: number; readonly code?: string | undefined } | undefined
  readonly content: Json | undefined
}

/** The answer of a tool call. Undefined for other answers of JSON-RPC. */
function answeredTool(answer: Json | undefined): AnsweredTool | undefined {
  if (answer?.jsonrpc === undefined) return undefined
  const [error, result] = [objectIn(answer.error), objectIn(answer.result)]
  const content = isObject(result.structuredContent) ? result.structuredContent : undefined
  if (answer.error !== undefined) return { refusal: { status: statusIn(objectIn(error.data)) }, content }
  if (result.resultType === 'payment_required') return { refusal: { status: 402 }, content }
  if (result.isError !== true) return { refusal: undefined, content }
  if (Array.isArray(content?.accepts)) return { refusal: { status: 402 }, content }
  return { refusal: { status: statusIn(content), code: codeIn(content) }, content }
}

const statusIn = (told: Json | undefined): number =>
  typeof told?.httpStatus === 'number' ? told.httpStatus : typeof told?.status === 'number' ? told.status : 400

const codeIn = (content: Json | undefined): string | undefined =>
  typeof content?.code === 'string' ? content.code : undefined

const objectIn = (value: unknown): Json => (isObject(value) ? value : {})
