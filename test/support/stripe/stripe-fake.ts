import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Params, type StripeFailure, stripeObjects } from './stripe-objects.js'

/** What Stripe does, by method and path, and the parameters that it takes. */
const OPERATIONS = {
  search: ['GET', /^\/payment_intents\/search$/, /^(query|limit|page)$/],
  retrieve: ['GET', /^\/payment_intents\/(\w+)$/, /^expand/],
  create: [
    'POST',
    /^\/payment_intents$/,
    /^(amount|currency|customer|payment_method|description|allowed_payment_method_types.*|metadata.*)$/,
  ],
  confirm: ['POST', /^\/payment_intents\/(\w+)\/confirm$/, /^(off_session|expand.*)$/],
  cancel: ['POST', /^\/payment_intents\/(\w+)\/cancel$/, /^cancellation_reason$/],
  customer: ['POST', /^\/customers$/, /^metadata/],
  setup: [
    'POST',
    /^\/setup_intents$/,
    /^(customer|payment_method|usage|confirm|automatic_payment_methods.*|metadata.*|expand.*)$/,
  ],
  refunds: ['GET', /^\/refunds$/, /^(charge|limit)$/],
  refund: ['POST', /^\/refunds$/, /^(charge|amount|metadata.*)$/],
} as const satisfies Record<string, readonly ['GET' | 'POST', RegExp, RegExp]>

export type StripeOperation = keyof typeof OPERATIONS

/**
 * How one request fares. `lost`: done, and its answer breaks off. `reset`: done, and the connection is reset. `limited`: not done, 429.
 * `broken`: not done, 500. `broken after`: done, and 500 all the same. A promise: done only then. Else what it answers, not done.
 */
export type StripeFault = 'lost' | 'reset' | 'limited' | 'broken' | 'broken after' | Promise<unknown> | StripeFailure

export interface StripeRequest {
  operation: StripeOperation
  key: string | undefined
  params: Params
}

interface Answered {
  status: number
  body: object
}

const KEY_KEPT_MS = 24 * 3_600_000
const API_KEY = 'sk_test_51FakeFakeFake'

/**
 * Stripe's API as far as cards are charged by it, on a port of its own: its objects, errors and idempotency keys as its documentation
 * says. Its clock stands where `clock.now` says; a search sees a PaymentIntent `searchLagMs` after it was made.
 */
export async function startStripe({ searchLagMs = 60_000 } = {}) {
  const clock = { now: Date.UTC(2031, 4, 1) }
  const objects = stripeObjects(() => clock.now)
  const requests: StripeRequest[] = []
  const faults: { operation: StripeOperation; fault: StripeFault }[] = []
  const keys = new Map<string, { request: string; at: number; answer?: Answered }>()

  function run({ operation, params }: StripeRequest, id: string): object {
    if (operation === 'search') return objects.searchIntents(params, searchLagMs)
    if (operation === 'retrieve') return objects.retrieveIntent(id)
    if (operation === 'create') return objects.createIntent(params)
    if (operation === 'confirm') return objects.confirmIntent(id)
    if (operation === 'cancel') return objects.cancelIntent(id, params)
    if (operation === 'customer') return objects.createCustomer()
    if (operation === 'setup') return objects.createSetupIntent(params)
    return operation === 'refunds' ? objects.listRefunds(params) : objects.createRefund(params)
  }

  /** The answer, with the first one's again under the same key. */
  async function answer(request: StripeRequest, id: string, fault: StripeFault | undefined): Promise<Answered> {
    const { key } = request
    if (typeof fault === 'object' && 'error' in fault) return failed(fault)
    if (fault === 'limited')
      return failed({ status: 429, error: { message: 'Too many requests.', code: 'rate_limit' } })
    if (request.operation !== 'search' && unknownParams(request).length > 0) return unknownParam(request)
    if (key === undefined) return answerOnce(request, id, fault)
    const known = keys.get(key)
    const same = JSON.stringify([request.operation, id, request.params])
    if (known && known.at + KEY_KEPT_MS > clock.now) {
      if (known.request !== same) return failed({ status: 400, error: { type: 'idempotency_error', message: OTHER } })
      return known.answer ?? failed({ status: 409, error: { code: 'idempotency_key_in_use', message: IN_USE } })
    }
    const begun: typeof known = { request: same, at: clock.now }
    keys.set(key, begun)
    return (begun.answer = await answerOnce(request, id, fault))
  }

  async function answerOnce(request: StripeRequest, id: string, fault: StripeFault | undefined): Promise<Answered> {
    if (fault instanceof Promise) await fault
    const broken = failed({ status: 500, error: { type: 'api_error', message: 'Sorry! Something went wrong.' } })
    if (fault === 'broken') return broken
    try {
      // As it is now: what Stripe answers does not change with what it keeps.
      const body = expanded(structuredClone(run(request, id)), request.params)
      return fault === 'broken after' ? broken : { status: 200, body }
    } catch (failure) {
      if (!(failure as StripeFailure).error) throw failure
      return failed(structuredClone(failure as StripeFailure))
    }
  }

  const server = createServer(async (req, res) => {
    const { operation, id, params } = await read(req)
    const key = req.headers['idempotency-key'] as string | undefined
    if (req.headers.authorization !== `Bearer ${API_KEY}`) return write(res, unauthorized(req))
    if (!operation) return write(res, failed({ status: 404, error: { message: 'Unrecognized request URL' } }))
    const request = { operation, key, params }
    requests.push(request)
    const at = faults.findIndex((each) => each.operation === operation)
    const fault = at < 0 ? undefined : faults.splice(at, 1)[0]?.fault
    const answered = await answer(request, id, fault)
    if (fault === 'reset') return void req.socket.resetAndDestroy()
    write(res, answered, fault === 'lost')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    clock,
    requests,
    ...objects,
    /** What a service is given to reach it. */
    options: {
      apiKey: API_KEY,
      protocol: 'http' as const,
      host: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
    },
    /** How the next requests for this fare, in turn. */
    fail: (operation: StripeOperation, ...next: StripeFault[]) =>
      void faults.push(...next.map((fault) => ({ operation, fault }))),
    /** Takes back what is yet to fail. */
    forgive: () => void faults.splice(0),
    /** The charges that came about. */
    charged: () => [...objects.charges.values()].filter(({ status }) => status === 'succeeded'),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Nested objects are ids, unless the request expands them. */
function expanded(body: Record<string, any>, params: Params): object {
  for (const name of ['latest_charge', 'payment_method'])
    if (body[name] && !Object.values(params).includes(name)) body[name] = body[name].id ?? body[name]
  return body
}

const OTHER = 'Keys for idempotent requests can only be used with the same parameters they were first used with.'
const IN_USE = 'There is currently another in-progress request using this Idempotent Key.'

const failed = ({ status, error }: StripeFailure): Answered => ({
  status,
  body: { error: { type: 'invalid_request_error', ...error } },
})

const unknownParams = ({ operation, params }: StripeRequest): string[] =>
  Object.keys(params).filter((name) => !OPERATIONS[operation][2].test(name))

const unknownParam = (request: StripeRequest): Answered =>
  failed({
    status: 400,
    error: { code: 'parameter_unknown', message: `Received unknown parameter: ${unknownParams(request)}` },
  })

/** It hides all of the key but its ends; the fake tells all of it, so that tests see who else does. */
const unauthorized = ({ headers }: IncomingMessage): Answered =>
  failed({ status: 401, error: { message: `Invalid API Key provided: ${headers.authorization?.slice(7)}` } })

async function read(req: IncomingMessage) {
  const url = new URL(req.url ?? '', 'http://stripe')
  let body = ''
  for await (const piece of req.setEncoding('utf8')) body += piece
  const path = url.pathname.replace('/v1', '')
  const [operation] =
    Object.entries(OPERATIONS).find(([, [method, at]]) => method === req.method && at.test(path)) ?? []
  const id = operation ? (OPERATIONS[operation as StripeOperation][1].exec(path)?.[1] ?? '') : ''
  const params = Object.fromEntries(new URLSearchParams(req.method === 'GET' ? url.search : body))
  return { operation: operation as StripeOperation | undefined, id, params }
}

function write(res: ServerResponse, { status, body }: Answered, isLost = false): void {
  const text = JSON.stringify(body)
  res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'request-id': 'req_fake',
  })
  if (!isLost) return void res.end(text)
  res.write(text.slice(0, 20), () => res.socket?.destroy())
}
