import * as z from 'zod/mini'
import { describeFault } from '../../src/http/fields/field.js'
import { parseDocument, Refusal, readText } from '../refusal.js'

const Word = z.string().check(z.minLength(1))
/** A field of JSON or of a form, such as `/customer/id` or `/metadata[order]`. */
const Pointer = z.string().check(z.regex(/^\/./, { error: 'a JSON pointer, such as "/customer/id"' }))
/** A value of a request: a field of its body, `header:idempotency-key`, or `path:id`, which the path names. */
const Place = z
  .string()
  .check(z.regex(/^(?:\/.|header:[\w-]+$|path:\w+$)/, { error: 'a JSON pointer, "header:name" or "path:name"' }))

const words = z.array(Word)
/** What a field of the answer says about a payment. */
const OutcomeRule = z
  .strictObject({
    field: Pointer,
    paid: z.optional(words),
    pending: z.optional(words),
    /** Reserved: it can be taken, and was not. */
    held: z.optional(words),
    refused: z.optional(words),
    /** Given back. */
    reversed: z.optional(words),
  })
  .check(z.refine((rule) => Object.keys(rule).length > 1, 'a rule with paid, pending, held, refused or reversed'))

const described = {
  /** What identifies one intention, by name. Calls with the same one are tries of the same payment. */
  keys: z.optional(z.record(z.string().check(z.regex(/^[\w-]+$/)), Place)),
  /** What is bought, without the price. Default: the path and the whole body. */
  item: z.optional(z.array(Place)),
  payer: z.optional(z.array(Place)),
  /** The amount that is asked for: the first of these that is there. */
  amount: z.optional(z.array(Place)),
  /** The amount that the answer says was moved. */
  charged: z.optional(Pointer),
  /** The id of the payment in the answer. Two answers with the same id are one payment. */
  payment: z.optional(Pointer),
  /** The first rule that knows the value decides. */
  outcome: z.optional(z.array(OutcomeRule)),
}

const Call = z.strictObject({
  /** `POST /payments/:id/confirm`. A `*` before the path stands for what it is mounted under. */
  request: z
    .string()
    .check(z.regex(/^[A-Z]+ \*?\/[\w./:-]*$/, { error: 'a method and a path, such as "POST /payments"' })),
  /** The part of the path that names what an earlier call made. It is bought by both. */
  of: z.optional(Word),
  ...described,
})

/** How a service of others takes payments. What it says of all calls, a call may say anew. */
const Profile = z.strictObject({
  /** Environment variables that a rehearsed command reads the address from, besides `FARTHING_URL`. */
  environment: z.optional(
    z.array(
      z.string().check(z.regex(/^[A-Z_][A-Z0-9_]*$/, { error: 'the name of a variable, such as "PAYMENT_URL"' })),
    ),
  ),
  /** How many decimals its amounts have. Default: 0, which is the smallest unit. */
  decimals: z.optional(z.int().check(z.minimum(0), z.maximum(18))),
  /** Refusals that pass: the same call may succeed later. Default: 408, 425 and 429. */
  retry: z.optional(z.array(z.int().check(z.minimum(400), z.maximum(599)))),
  /** The header of an answer that repeats an earlier one. */
  replayed: z.optional(Word),
  /** Answers that say that a key was used for something else. */
  spent: z.optional(z.array(z.strictObject({ field: Pointer, is: words }))),
  ...described,
  calls: z.record(z.string().check(z.regex(/^\w[\w.-]*$/)), Call),
})

export type ProxyProfile = z.output<typeof Profile>
export type ProfiledCall = z.output<typeof Call>

const paymentIntent = {
  charged: '/amount',
  payment: '/id',
  outcome: [
    {
      field: '/status',
      paid: ['succeeded'],
      pending: ['processing'],
      held: ['requires_capture'],
      reversed: ['canceled'],
    },
  ],
}

const charge = {
  charged: '/amount',
  payment: '/id',
  outcome: [{ field: '/status', paid: ['succeeded'], pending: ['pending'], refused: ['failed'] }],
}

const builtIn: Readonly<Record<string, ProxyProfile>> = {
  stripe: {
    environment: ['STRIPE_API_BASE'],
    keys: { key: 'header:idempotency-key' },
    item: ['/currency', '/customer', '/description', '/metadata[order_id]', '/transfer_group'],
    payer: ['/customer'],
    amount: ['/amount'],
    // 409: the same key is in use at this moment.
    retry: [408, 409, 429],
    replayed: 'idempotent-replayed',
    spent: [{ field: '/error/type', is: ['idempotency_error'] }],
    calls: {
      createPaymentIntent: { request: 'POST /v1/payment_intents', ...paymentIntent },
      confirmPaymentIntent: { request: 'POST /v1/payment_intents/:id/confirm', of: 'id', ...paymentIntent },
      capturePaymentIntent: { request: 'POST /v1/payment_intents/:id/capture', of: 'id', ...paymentIntent },
      cancelPaymentIntent: { request: 'POST /v1/payment_intents/:id/cancel', of: 'id', ...paymentIntent },
      retrievePaymentIntent: { request: 'GET /v1/payment_intents/:id', of: 'id', ...paymentIntent },
      createCharge: { request: 'POST /v1/charges', ...charge },
      retrieveCharge: { request: 'GET /v1/charges/:id', of: 'id', ...charge },
      createRefund: {
        request: 'POST /v1/refunds',
        item: ['/payment_intent', '/charge'],
        payment: '/payment_intent',
        outcome: [{ field: '/status', reversed: ['succeeded', 'pending'] }],
      },
    },
  },
  x402: {
    environment: ['FACILITATOR_URL'],
    keys: {
      eip3009: '/paymentPayload/payload/authorization/nonce',
      permit2: '/paymentPayload/payload/permit2Authorization/nonce',
      'payment-identifier': '/paymentPayload/extensions/payment-identifier/info/id',
    },
    item: ['/paymentPayload/resource/url', '/paymentRequirements/resource', '/paymentRequirements/payTo'],
    payer: ['/paymentPayload/payload/authorization/from', '/paymentPayload/payload/permit2Authorization/from'],
    calls: {
      settle: {
        request: 'POST */settle',
        amount: ['/paymentRequirements/amount', '/paymentRequirements/maxAmountRequired'],
        payment: '/transaction',
        outcome: [
          { field: '/errorReason', pending: ['settlement_pending'] },
          { field: '/success', paid: ['true'], refused: ['false'] },
        ],
      },
      verify: { request: 'POST */verify' },
      supported: { request: 'GET */supported', keys: {}, item: [] },
    },
  },
}

/** The profile with this name, or of this file. Throws `Refusal`. */
export async function loadProfile(named: string): Promise<ProxyProfile> {
  const known = Object.hasOwn(builtIn, named) ? builtIn[named] : undefined
  if (known) return known
  if (!/[./\\]/.test(named))
    throw new Refusal(`--profile must be ${Object.keys(builtIn).join(', ')} or a file, not ${JSON.stringify(named)}`)
  const document = await parseDocument(named, await readText(named))
  const fault = describeFault(Profile, document)
  if (fault !== undefined) throw new Refusal(`${named}: ${fault}`)
  const profile = Profile.parse(document)
  const mistake = mistakeIn(profile)
  if (mistake !== undefined) throw new Refusal(`${named}: ${mistake}`)
  return profile
}

/** What fields say that cannot be meant. */
function mistakeIn({ calls }: ProxyProfile): string | undefined {
  const all = Object.entries(calls)
  if (all.length === 0) return 'calls must have at least one, which pays'
  for (const [at, [name, call]] of all.entries()) {
    const [same] = all.slice(0, at).find(([, { request }]) => request === call.request) ?? []
    if (same !== undefined) return `calls.${name}.request must not be that of calls.${same}`
    const named = call.request.split('/')
    const missing = placesOf(call).find(([, part]) => !named.includes(`:${part}`))
    if (missing)
      return `calls.${name}.${missing[0]} must name a part of its path, and "${call.request}" has no :${missing[1]}`
  }
  return undefined
}

/** The fields of a call that name parts of its path: field and part. */
function placesOf({
  of,
  keys = {},
  item = [],
  payer = [],
  amount = [],
}: ProfiledCall): [field: string, part: string][] {
  const inPath = (field: string, places: readonly string[]) =>
    places.flatMap((place): [string, string][] => (place.startsWith('path:') ? [[field, place.slice(5)]] : []))
  const ofKeys = Object.entries(keys).flatMap(([name, place]) => inPath(`keys.${name}`, [place]))
  const others = [...inPath('item', item), ...inPath('payer', payer), ...inPath('amount', amount), ...ofKeys]
  return of === undefined ? others : [['of', of], ...others]
}

/** The call of a profile that a request is, with what the profile says of all calls. */
export interface MatchedCall {
  readonly operation: string
  /** Without what may say who pays for what. */
  readonly path: string
  readonly call: ProfiledCall | undefined
  /** The named parts of the path. */
  readonly parts: Readonly<Record<string, string>>
}

/** Finds what a request is. `path`: below the address of the service, without its query. */
export function matchCall({ calls, ...all }: ProxyProfile, method: string, path: string): MatchedCall {
  const shown = shownPath(path)
  for (const [name, call] of Object.entries(calls)) {
    const parts = partsOf(call.request, method, path)
    if (parts) return { operation: name, path: shown, call: { ...sharedBy(all), ...call }, parts }
  }
  return { operation: `${method} ${shown}`, path: shown, call: undefined, parts: {} }
}

const sharedBy = ({ keys, item, payer, amount, charged, payment, outcome }: Omit<ProxyProfile, 'calls'>) => ({
  ...{ keys, item, payer, amount, charged, payment, outcome },
})

function partsOf(request: string, method: string, path: string): Record<string, string> | undefined {
  const [asked, pattern = ''] = request.split(' ')
  if (asked !== method) return undefined
  const isMounted = pattern.startsWith('*')
  const wanted = pattern.replace(/^\*?\//, '').split('/')
  const given = path.replace(/^\//, '').replace(/\/$/, '').split('/')
  if (isMounted ? given.length < wanted.length : given.length !== wanted.length) return undefined
  const parts: Record<string, string> = {}
  const compared = given.slice(given.length - wanted.length)
  for (const [at, part] of wanted.entries()) {
    const value = compared[at] ?? ''
    if (part.startsWith(':')) parts[part.slice(1)] = plainPart(value)
    else if (part !== value) return undefined
  }
  return parts
}

function plainPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Words of programmers: `payment_intents`, `paymentIntents`, `v1`. */
const WORD = /^(?:v\d+|[a-z][a-z_.-]{0,30}|[a-z]{2,}(?:[A-Z][a-z]{2,}){1,4})?$/

/** A path whose parts are words. What has digits, capitals or other characters, as ids, addresses and keys do, becomes `:id`. */
const shownPath = (path: string): string =>
  path
    .split('/')
    .map((part) => (WORD.test(part) ? part : ':id'))
    .join('/')
