import { LONGEST_EMAIL } from '../../base/text/email.js'
import { withoutEnds } from '../../base/text/ends.js'
import { isBlank, isPlainLine } from '../../base/text/invisible-characters.js'
import { isDay, isTime } from '../../base/time.js'
import { fieldRefused } from './field.js'
import { allDesigned, designed } from './graded.js'
import { component, strictComponent } from './marks.js'
import * as z from './zod.js'

/** Schemas that several features share. They have no transforms, so that each converts to JSON Schema. */

/** A hash of canonical JSON: `41` and 64 hex digits. */
export const ContentHash = z.generated(z.string())
export const UnixSeconds = z.generated(z.int())
/** Accounts, users and their secrets show times in this form. */
export const UnixSecondsDigits = z.generated(z.string().check(z.regex(/^\d+$/)))
/** A time on input: Unix seconds, as a number or digits, or an ISO 8601 date or date-time. Default time zone: UTC. */
export const Time = z.union([z.int(), z.string()])

/** Converts a `Time` to Unix milliseconds. Throws `field_invalid`, which names the field. */
export function timeOf(field: string, time: number | string | undefined): number | undefined {
  if (time === undefined) return undefined
  const text = String(time)
  // Date.parse accepts other text too ("-5" is in 2001), and reads a date-time without a zone in the machine's zone.
  const [, day, clock, zone] =
    /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? []
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(`${day}T${clock ?? '00:00'}${zone ?? 'Z'}`)
  if (isTime(ms) && (day === undefined || isDay(day))) return ms
  throw fieldRefused(field, 'must be Unix seconds or an ISO 8601 date-time')
}

const plainLine = z.refine<string>(isPlainLine, 'one line without control, invisible or text-direction characters')
const visibleLine = z.refine<string>((text) => !isBlank(text), 'a line with something to see')

/** One line of at most `most` characters. */
export const lineUpTo = (most: number) => z.string().check(z.maxLength(most), plainLine)

/** A name: one line of 1 to `most` characters, with something to see. */
export const lineOf = (most: number) => z.string().check(z.minLength(1), z.maxLength(most), plainLine, visibleLine)

export const Email = z.string().check(
  z.refine((text) => isPlainLine(withoutSpaces(text)), 'an email address without control or invisible characters'),
  z.trim(),
  z.maxLength(LONGEST_EMAIL),
  z.regex(/^[^\s@,;<>"]+@[^\s@,;<>"]+\.[^\s@,;<>".]+$/u, 'an email address, such as ada@example.test'),
)

/** Unlike `trim`, it leaves U+FEFF, which is invisible and must be refused. */
const withoutSpaces = (text: string): string => withoutEnds(text, ' \t\r\n')
export const HashPath = z.object({ hash: ContentHash })
export const IdPath = z.object({ id: z.Id })

/** An amount in its digital quantity. */
export const Amount = z.number()

/** A price that the payer saw, as a number or in decimal digits. `2` and `"2.0"` are equal. */
export const QuotedAmount = z.union([
  Amount,
  z.string().check(z.maxLength(40), z.regex(/^\d+(\.\d+)?(e[+-]?\d+)?$/i, 'a number')),
])

/** The quote: the price that the payer saw, and its digital quantity. If either has changed, nothing is charged. */
export const quoteFields = { price: z.optional(QuotedAmount), dq: z.optional(ContentHash) }
export const QuotedLines = z.array(z.object({ line: z.int(), quantity: z.int(), price: QuotedAmount, dq: ContentHash }))

/** A user without secrets (Micro Payment Service Interface, section 2). */
export const userShape = {
  id: z.Id,
  email: z.string(),
  created_at: UnixSecondsDigits,
  updated_at: UnixSecondsDigits,
  deleted_at: z.nullable(UnixSecondsDigits),
  is_android: z.boolean(),
  is_ios: z.boolean(),
}

export const UserShape = component('User', userShape)

export const TwinShape = component('Twin', {
  id: z.Id,
  hostname: z.Hostname,
  key: z.secret(z.nullable(z.string())),
  balances: z.record(z.string(), Amount),
})

export const paymentShape = allDesigned({
  id: z.Id,
  hash: z.nullable(ContentHash),
  descriptor: z.string(),
  dq: ContentHash,
  amount: Amount,
  hostname: z.Hostname,
  payee_hostname: z.Hostname,
  kind: z.enum(['payment', 'payback', 'purchase', 'paywall', 'topup', 'x402']),
  status: z.enum(['pending', 'held', 'posted', 'reversed', 'failed']),
  created_at: UnixSeconds,
})

export const PaymentShape = component('Payment', paymentShape)

export const ReceiptShape = component('Receipt', {
  transaction_id: z.Id,
  catalog_item_id: z.Id,
  name: z.string(),
  descriptor: z.string(),
  seller: z.string(),
  amount: Amount,
  dq: ContentHash,
  status: z.enum(['held', 'paid', 'reversed']),
  commodity_hash: ContentHash,
  response: z.nullable(
    component('DeliveredResponse', {
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

/** The fields of an item that a seller must give. */
export const itemFields = {
  name: lineOf(64),
  description: z.string().check(z.maxLength(1024)),
  service_method: ServiceMethod,
  service_schema: ServiceSchema,
}

export const Descriptor = lineOf(255)

/** The name of an account. Null clears it. */
export const AccountName = z.nullable(lineUpTo(255))
const profileText = (most: number) => z.string().check(z.trim(), z.minLength(1), z.maxLength(most))
const profileLine = (most: number) => z.optional(z.nullable(profileText(most).check(plainLine)))

/** The card processor's id for a card. It allows card numbers, so that they are refused with their own error. */
export const PaymentMethodId = z.string().check(z.regex(/^[\x20-\x7e]{1,255}$/, '1 to 255 printable ASCII characters'))

/** The recipient of invoices. Null clears a field. Omitted fields stay unchanged. */
export const profileFields = {
  business_name: profileLine(255),
  business_address: z.optional(z.nullable(profileText(1000))),
  billing_email: z.optional(z.nullable(Email)),
  tax_number: profileLine(64),
}

/** An item of the catalog. Only its own account sees `external_endpoint`. */
export const ItemShape = component('CatalogItem', {
  id: z.Id,
  name: designed(z.string()),
  description: designed(z.string()),
  price: designed(Amount),
  dq: designed(ContentHash),
  commodity_hash: designed(ContentHash),
  commodity_name: z.string(),
  commodity_description: z.string(),
  commodity_cost: Amount,
  descriptor: designed(z.string()),
  hostname: designed(z.Hostname),
  seller: designed(z.string()),
  service_method: ServiceMethod,
  service_schema: ServiceSchema,
  active: z.boolean(),
  private: designed(z.boolean()),
  featured: designed(z.boolean()),
  archived: designed(z.boolean()),
  external_endpoint: designed(z.optional(z.string())),
  created_at: designed(UnixSeconds),
  updated_at: designed(UnixSeconds),
})

export const CartShape = component('Cart', {
  id: z.Id,
  status: z.enum(['open', 'paying', 'paid', 'partly_paid', 'failed']),
  items: z.array(
    component('CartLine', {
      line: z.int(),
      catalog_item_id: z.Id,
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

/** A checkout: a link by which anybody can pay for one purchase. */
export const CheckoutShape = component('Checkout', {
  id: z.Id,
  token: z.secret(z.string()),
  url: z.Link,
  status: z.enum(['unpaid', 'paying', 'paid', 'expired']),
  catalog_item_id: z.Id,
  name: z.string(),
  price: Amount,
  dq: ContentHash,
  receipt: z.optional(ReceiptShape),
  expires_at: UnixSeconds,
  created_at: UnixSeconds,
})

/** A transfer of value to a twin or an email address. */
export const TransferShape = component(
  'Transfer',
  allDesigned({
    id: z.Id,
    status: z.enum(['completed', 'invited', 'cancelled', 'expired']),
    amount: Amount,
    dq: ContentHash,
    hostname: z.Hostname,
    address: z.TextId,
    memo: z.nullable(z.string()),
    expires_at: z.nullable(UnixSeconds),
    created_at: UnixSeconds,
  }),
)

/** A featured item in the registry of tools. */
export const ToolShape = component(
  'Tool',
  allDesigned({
    id: z.Id,
    name: z.string(),
    description: z.string(),
    provider: z.string(),
    price_per_call: Amount,
    dq: ContentHash,
    service_url: z.string(),
    service_method: ServiceMethod,
    twin_id: z.Id,
    twin_hostname: z.Hostname,
    input_schema: ServiceSchema,
    active: z.boolean(),
    created_at: UnixSeconds,
    updated_at: UnixSeconds,
  }),
)

/** An approval: what an agent wants to do, and whether its user agreed. */
export const ApprovalShape = component('Approval', {
  approval_id: z.TextId,
  kind: z.enum(['purchase', 'paywall', 'transfer', 'cart', 'account_change']),
  status: z.enum(['pending', 'approved', 'rejected', 'expired', 'spent']),
  detail: z.record(z.string(), z.unknown()),
  summary: z.string(),
  url: z.Link,
  expires_at: UnixSeconds,
  created_at: UnixSeconds,
  spent_at: z.nullable(UnixSeconds),
})

export const AuthenticationRequest = component('AuthenticationRequest', {
  id: z.Id,
  status: z.enum(['pending', 'approved', 'rejected', 'expired']),
  action: z.string(),
  detail: z.record(z.string(), z.unknown()),
  interval: z.int(),
  expires_at: UnixSeconds,
  created_at: UnixSeconds,
})

/** The query of every list: how many rows, and after which id. */
export const pageQuery = {
  limit: designed(z.optional(z.int().check(z.minimum(1), z.maximum(100)))),
  after: designed(z.optional(z.int())),
}

export const PageQuery = z.object(pageQuery)

/** A page of a list, with the rows under `plural`. `next` is the cursor of the next page, or null on the last. */
export const pageOf = <P extends string, S extends z.ZodMiniType>(plural: P, item: S) =>
  // TypeScript types a computed field name as `string`.
  z.object({ [plural]: z.array(item), next: designed(z.nullable(z.Id)) } as Record<P, z.ZodMiniArray<S>> & {
    next: z.ZodMiniNullable<z.ZodMiniInt>
  })

/** What all routes have in common that list rows in pages. */
export const listing = <P extends string, S extends z.ZodMiniType>(plural: P, item: S) =>
  ({ method: 'GET', query: PageQuery, result: pageOf(plural, item), errors: ['cursor_invalid'] }) as const

export { component, strictComponent, z }

const userSecret = <S extends z.ZodMiniType>(name: string, client_secret: S) =>
  z.array(
    component(name, {
      ...{ client_id: z.TextId, client_secret, created_at: UnixSecondsDigits, updated_at: UnixSecondsDigits },
      deleted_at: z.nullable(UnixSecondsDigits),
    }),
  )

export const SecretsShape = userSecret('UserSecret', z.secret(z.string()))
/** Client credentials as a token of some of them shows them. */
export const KnownSecretsShape = userSecret('KnownUserSecret', z.secret(z.nullable(z.string())))
export const TwinPath = z.object({ hostname: z.Hostname })

/** The path of a page whose token gives whoever has its link a right. */
export const LinkPath = z.object({ token: z.secret(z.string()) })
