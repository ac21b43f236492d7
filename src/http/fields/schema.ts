import { problem } from '../../base/problem.js'
import { isPlainLine } from '../../base/text/invisible-characters.js'
import * as z from './zod.js'

/** Wire shapes that more than one feature shows. Schemas have no transforms, so that each is also JSON Schema. */

/** A hash of canonical JSON: `41` and 64 hex digits. */
export const ContentHash = z.string()

export const UnixSeconds = z.int()
/** Accounts, users and their secrets show times so on create and read. */
export const UnixSecondsDigits = z.string().check(z.regex(/^\d+$/))

/** A moment on input: Unix seconds, as a number or digits, or an ISO 8601 date or date-time, UTC where it names no zone. */
export const Time = z.union([z.int(), z.string()])

/** Unix milliseconds of a `Time`. Throws `field_invalid`, which names the field. */
export function timeOf(field: string, time: number | string | undefined): number | undefined {
  if (time === undefined) return undefined
  const text = String(time)
  // Date.parse takes much that is no time ("-5" is one in 2001), and a date-time without a zone by that of the machine.
  const [, day, clock, zone] =
    /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? []
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(`${day}T${clock ?? '00:00'}${zone ?? 'Z'}`)
  if (Number.isSafeInteger(ms)) return ms
  throw problem('field_invalid', {
    detail: `"${field}" must be Unix seconds or an ISO 8601 date-time.`,
    fields: { field },
  })
}

/** Of one line, every character of which people see. */
const plainLine = z.refine<string>(isPlainLine, 'one line without control, invisible or text-direction characters')

/** What somebody calls something: one line, of up to `most` characters. */
export const lineOf = (most: number, least = 1) => z.string().check(z.minLength(least), z.maxLength(most), plainLine)

export const Email = z.string().check(
  z.refine((text) => isPlainLine(withoutEnds(text)), 'an email address without control or invisible characters'),
  z.trim(),
  z.maxLength(254),
  z.regex(/^[^\s@,;<>"]+@[^\s@,;<>"]+\.[^\s@,;<>".]+$/u, 'an email address, such as ada@example.test'),
)

/** Without the white space that a copied address begins or ends with. JavaScript's own `trim` also takes U+FEFF away, which people cannot see. */
const withoutEnds = (text: string): string => text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '')

/** Path of something known by its hash. */
export const HashPath = z.object({ hash: z.string() })

/** Path of something known by a number. */
export const IdPath = z.object({ id: z.int() })

/** A number of value, in the digital quantity. */
export const Amount = z.number()

/** A price that the payer saw, as a number or in decimal digits: how it is spelled makes no difference. */
export const QuotedAmount = z.union([
  Amount,
  z.string().check(z.maxLength(40), z.regex(/^\d+(\.\d+)?(e[+-]?\d+)?$/i, 'a number')),
])

/** The quote: the price that the payer saw, and its digital quantity. With another one now, nothing is charged. */
export const quoteFields = { price: z.optional(QuotedAmount), dq: z.optional(ContentHash) }

/** The lines of a cart as its payer saw them. */
export const QuotedLines = z.array(z.object({ line: z.int(), quantity: z.int(), price: QuotedAmount, dq: ContentHash }))

/** A user as others see them: without secrets (interface.md section 2). */
export const userShape = {
  id: z.int(),
  email: z.string(),
  created_at: UnixSecondsDigits,
  updated_at: UnixSecondsDigits,
  deleted_at: z.nullable(UnixSecondsDigits),
  is_android: z.boolean(),
  is_ios: z.boolean(),
}

export const UserShape = z.object(userShape)

export const TwinShape = z.object({
  id: z.int(),
  hostname: z.string(),
  key: z.nullable(z.string()),
  balances: z.record(z.string(), Amount),
})

export const paymentShape = {
  id: z.int(),
  hash: z.nullable(z.string()),
  descriptor: z.string(),
  dq: ContentHash,
  amount: Amount,
  hostname: z.string(),
  payee_hostname: z.string(),
  kind: z.enum(['payment', 'payback', 'purchase', 'paywall', 'topup']),
  status: z.enum(['pending', 'held', 'posted', 'reversed', 'failed']),
  created_at: UnixSeconds,
}

export const PaymentShape = z.object(paymentShape)

/** What was bought. */
export const ReceiptShape = z.object({
  transaction_id: z.int(),
  catalog_item_id: z.int(),
  name: z.string(),
  descriptor: z.string(),
  seller: z.string(),
  amount: Amount,
  dq: ContentHash,
  status: z.enum(['held', 'paid', 'reversed']),
  commodity_hash: z.string(),
  response: z.nullable(
    z.object({
      status: z.int(),
      content_type: z.nullable(z.string()),
      body: z.nullable(z.string()),
      body_encoding: z.optional(z.literal('base64')),
    }),
  ),
  created_at: UnixSeconds,
})

export const ServiceMethod = z.enum(['GET', 'POST', 'PUT'])
export const ServiceSchema = z.record(z.string(), z.unknown())

/** What a seller says of an item: where all of them are needed. */
export const itemFields = {
  name: lineOf(64),
  description: z.string().check(z.maxLength(1024)),
  service_method: ServiceMethod,
  service_schema: ServiceSchema,
}

/** Receipt line. */
export const Descriptor = lineOf(255)

/** Null clears it. */
export const AccountName = z.nullable(lineOf(255, 0))

const profileText = (most: number) => z.string().check(z.trim(), z.minLength(1), z.maxLength(most))
const profileLine = (most: number) => z.optional(z.nullable(profileText(most).check(plainLine)))

/** The card processor's name for a card. Not narrower than a card number: what looks like one is refused by a word of its own. */
export const PaymentMethodId = z.string().check(z.regex(/^[\x20-\x7e]{1,255}$/, '1 to 255 printable ASCII characters'))

/** Whom invoices are for; null clears a field, one left out stays. */
export const profileFields = {
  business_name: profileLine(255),
  business_address: z.optional(z.nullable(profileText(1000))),
  billing_email: z.optional(z.nullable(Email)),
  tax_number: profileLine(64),
}

/** Something sold to agents; `external_endpoint` only to its own account. */
export const ItemShape = z.object({
  id: z.int(),
  name: z.string(),
  description: z.string(),
  price: Amount,
  dq: ContentHash,
  commodity_hash: z.string(),
  commodity_name: z.string(),
  commodity_description: z.string(),
  commodity_cost: Amount,
  descriptor: z.string(),
  hostname: z.string(),
  seller: z.string(),
  service_method: ServiceMethod,
  service_schema: ServiceSchema,
  active: z.boolean(),
  private: z.boolean(),
  featured: z.boolean(),
  archived: z.boolean(),
  external_endpoint: z.optional(z.string()),
  created_at: UnixSeconds,
  updated_at: UnixSeconds,
})

/** Items that are paid at once. */
export const CartShape = z.object({
  id: z.int(),
  status: z.enum(['open', 'paying', 'paid', 'partly_paid', 'failed']),
  items: z.array(
    z.object({
      line: z.int(),
      catalog_item_id: z.int(),
      name: z.string(),
      seller: z.string(),
      price: Amount,
      dq: ContentHash,
      quantity: z.int(),
      arguments: z.record(z.string(), z.unknown()),
      status: z.enum(['open', 'paying', 'paid', 'partly_paid', 'reversed']),
      receipts: z.array(ReceiptShape),
    }),
  ),
  totals: z.record(z.string(), Amount),
  created_at: UnixSeconds,
})

/** A link by which one purchase is paid. */
export const CheckoutShape = z.object({
  id: z.int(),
  token: z.string(),
  url: z.string(),
  status: z.enum(['unpaid', 'paying', 'paid', 'expired']),
  catalog_item_id: z.int(),
  name: z.string(),
  price: Amount,
  dq: ContentHash,
  receipt: z.optional(ReceiptShape),
  expires_at: UnixSeconds,
  created_at: UnixSeconds,
})

/** Value on its way between wallets. */
export const TransferShape = z.object({
  id: z.int(),
  status: z.enum(['completed', 'invited', 'cancelled', 'expired']),
  amount: Amount,
  dq: ContentHash,
  hostname: z.string(),
  address: z.string(),
  memo: z.nullable(z.string()),
  expires_at: z.nullable(UnixSeconds),
  created_at: UnixSeconds,
})

/** A featured item as the registry of tools shows it. */
export const ToolShape = z.object({
  id: z.int(),
  name: z.string(),
  description: z.string(),
  provider: z.string(),
  price_per_call: Amount,
  dq: ContentHash,
  service_url: z.string(),
  service_method: ServiceMethod,
  twin_id: z.int(),
  twin_hostname: z.string(),
  input_schema: ServiceSchema,
  active: z.boolean(),
  created_at: UnixSeconds,
  updated_at: UnixSeconds,
})

/** What an agent asked its user for. */
export const ApprovalShape = z.object({
  approval_id: z.string(),
  kind: z.enum(['purchase', 'paywall', 'transfer', 'cart', 'account_change']),
  status: z.enum(['pending', 'approved', 'rejected', 'expired', 'spent']),
  detail: z.record(z.string(), z.unknown()),
  summary: z.string(),
  url: z.string(),
  expires_at: UnixSeconds,
  created_at: UnixSeconds,
  spent_at: z.nullable(UnixSeconds),
})

export const AuthenticationRequest = z.object({
  id: z.int(),
  status: z.enum(['pending', 'approved', 'rejected', 'expired']),
  action: z.string(),
  detail: z.record(z.string(), z.unknown()),
  interval: z.int(),
  expires_at: UnixSeconds,
  created_at: UnixSeconds,
})

/** Part of every list: how many, and past which id. */
export const pageQuery = {
  limit: z.optional(z.int().check(z.minimum(1), z.maximum(100))),
  after: z.optional(z.int()),
}

export const PageQuery = z.object(pageQuery)

/** A page of a list under its plural; `next` is the `after` of the next page, or null on the last. */
export const pageOf = <P extends string, S extends z.ZodMiniType>(plural: P, item: S) =>
  // TypeScript takes a field whose name is computed for one of any name.
  z.object({ [plural]: z.array(item), next: z.nullable(z.int()) } as Record<P, z.ZodMiniArray<S>> & {
    next: z.ZodMiniNullable<z.ZodMiniInt>
  })

export { z }

/** Client credentials, as their owner sees them. */
export const SecretsShape = z.array(
  z.object({
    client_id: z.string(),
    client_secret: z.string(),
    created_at: UnixSecondsDigits,
    updated_at: UnixSecondsDigits,
    deleted_at: z.nullable(UnixSecondsDigits),
  }),
)

export const TwinPath = z.object({ hostname: z.string() })
