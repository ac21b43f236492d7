/** The fields that a problem may add to its body, each with its JSON Schema. No problem carries another one. */

const text = { type: 'string' } as const
const integer = { type: 'integer' } as const
const amount = { type: 'number' } as const
const nullableText = { type: ['string', 'null'] } as const
const object = { type: 'object', additionalProperties: true } as const

export const problemFields = {
  field: { ...text, description: 'The path of the field that is missing or invalid.' },
  price: { ...amount, description: 'The price as it is now, in the digital quantity.' },
  dq: { ...text, description: 'The hash of the digital quantity of the price.' },
  lines: {
    type: 'array',
    description: 'The lines of the cart as they are now.',
    items: {
      type: 'object',
      required: ['line', 'price', 'dq'],
      properties: {
        line: { ...integer, description: 'The number of the line.' },
        price: { ...amount, description: 'The price of the line, in the digital quantity.' },
        dq: { ...text, description: 'The hash of the digital quantity.' },
        quantity: { ...integer, description: 'How many the line buys.' },
        catalog_item_id: { ...integer, description: 'The id of the catalog item.' },
        name: { ...text, description: 'The name of the catalog item.' },
        new_price: { ...amount, description: 'The price as it is now, in the new digital quantity.' },
        new_dq: { ...text, description: 'The hash of the digital quantity as it is now.' },
      },
    },
  },
  part: { ...text, description: 'The part of `farthing/parts` that the bundle leaves out.' },
  waiting: { ...integer, description: 'How many requests wait for their first transaction.' },
  queue: { ...integer, description: 'How many may wait: the option `limits.queue`.' },
  body_bytes: { ...integer, description: 'How many bytes all bodies may take: the option `limits.bodiesBytes`.' },
  line: { ...integer, description: 'The line that was refused: of a cart, or of the CSV of a binder.' },
  column: { ...nullableText, description: 'The column of the CSV that was refused. Null: the whole line.' },
  expected: { ...text, description: 'What the line or its cell must be.' },
  outcome: { type: 'string', enum: ['failed', 'unknown'], description: 'Whether the card may still be charged.' },
  reason: { ...text, description: 'Why it was refused, as a code or a sentence.' },
  argument: { ...nullableText, description: 'The path of the refused argument. Null: all arguments.' },
  invoice_id: { ...integer, description: 'The id of the invoice that is not paid.' },
  invoice_status: { ...text, description: 'The status of the invoice.' },
  payment_id: { ...integer, description: 'The id of the payment that was not completed.' },
  transaction_id: { ...integer, description: 'The id of the reversed payment.' },
  approval: { ...object, description: 'The body with which to request the approval.' },
  approval_id: { ...text, description: 'The id of the approval.' },
  url: { ...text, description: 'Where the user answers the approval.' },
  type: { ...text, description: 'The address of the kind of problem, in MPP (RFC 9457).' },
  title: { ...text, description: 'What the kind of problem is called, in MPP.' },
  detail: { ...text, description: 'What is wrong, in MPP.' },
  challengeId: { ...text, description: 'The id of the new challenge of MPP.' },
  x402Version: { ...integer, description: 'The version of x402 in which `accepts` offers the call: 1.' },
  accepts: {
    type: 'array',
    description: 'The ways to pay for the call, in version 1 of x402.',
    items: {
      type: 'object',
      required: ['scheme', 'network', 'maxAmountRequired', 'asset', 'payTo', 'maxTimeoutSeconds'],
      properties: {
        scheme: { ...text, description: 'Always `exact`.' },
        network: { ...text, description: 'The network, as version 1 names it.' },
        maxAmountRequired: { ...text, description: "The amount due, in the token's smallest unit." },
        resource: { ...text, description: 'The URL of the call.' },
        description: { ...text, description: 'What the item does.' },
        mimeType: { ...text, description: 'The media type of the answer.' },
        payTo: { ...text, description: 'The address of the payee.' },
        maxTimeoutSeconds: { ...integer, description: 'How long a signature may be valid.' },
        asset: { ...text, description: 'The address of the token.' },
        extra: { ...object, description: "The `name` and `version` of the token's domain (EIP-712)." },
      },
    },
  },
  approval_status: { ...text, description: 'The status of the approval.' },
  catalog_item_id: { ...integer, description: 'The id of the catalog item whose price changed.' },
  of: { ...text, description: 'What the plan, or the limit of a day, counts.' },
  plan: { ...text, description: 'The plan of the account.' },
  limit: { ...integer, description: 'How many it allows.' },
  used: { ...integer, description: 'How many are used.' },
  resets_at: { ...integer, description: 'Unix seconds at which the count starts again.' },
  changed: { type: 'boolean', description: 'True if parts of the change were made and kept.' },
  made: { ...object, description: 'What was made and kept.' },
  collection: { ...text, description: 'The collection that breaks a rule.' },
  id: {
    type: ['string', 'integer', 'null'],
    description:
      'The id of the row that breaks a rule, or of the entry that cannot be repeated. Null: no single row breaks it.',
  },
  schema: { ...integer, description: 'The number of the stored schema, which is newer than this service.' },
  ok: { type: 'boolean', description: 'False, because nothing can be stored.' },
  fault: { ...text, description: 'Why nothing can be stored.' },
  name: { ...text, description: 'The name of the service.' },
  version: { ...text, description: 'The version of farthing.' },
  storage: { ...text, description: 'The kind of storage.' },
  clock: { ...object, description: 'The clock of the service: `mode` and `now`.' },
  processes: {
    type: 'array',
    description: 'The processes that share the storage, the one that answers first.',
    items: { type: 'string' },
  },
  evidence: { ...text, description: 'The weakest evidence grade that the service accepts.' },
} as const

export type FieldName = keyof typeof problemFields

type ValueOf<S> = S extends { enum: readonly (infer V)[] }
  ? V
  : S extends { type: 'string' }
    ? string
    : S extends { type: 'integer' | 'number' }
      ? number
      : S extends { type: 'boolean' }
        ? boolean
        : S extends { type: readonly ['string', 'null'] }
          ? string | null
          : S extends { type: readonly ['string', 'integer', 'null'] }
            ? string | number | null
            : S extends { type: 'array'; items: { type: 'string' } }
              ? string[]
              : S extends { type: 'array'; items: { properties: infer P; required: readonly (infer R)[] } }
                ? ItemOf<P, R>[]
                : Record<string, unknown>

type ItemOf<P, Required> = { [Name in keyof P & Required]: ValueOf<P[Name]> } & {
  [Name in Exclude<keyof P, Required>]?: ValueOf<P[Name]> | undefined
}

/** Fields of a problem's body beside `error`, `status` and `code`. */
export type ProblemFields = { readonly [Name in FieldName]?: ValueOf<(typeof problemFields)[Name]> | undefined }

/**
 * The errors of a group, by their codes: `402 The card was declined. {reason payment_id} [decline_code]`. The HTTP status and
 * the sentence as in a status line, in which ‹ and › enclose code, then the fields that its body may have, and the facts that
 * only the journal of a sandbox keeps.
 */
export type ProblemDeclarations = Readonly<Record<string, `${number} ${string}`>>

/**
 * The pages of the errors that a group declares, which are loaded when they are first read: what happened and what did not,
 * then a line for each of its usual causes, and of what fixes it. ‹ and › enclose code.
 */
export type ProblemPages<Declared> = Readonly<Record<keyof Declared, `${string}\n    ${'cause' | 'fix'}: ${string}`>>

/** The lines of a text, with code in backticks. */
export const textLines = (text: string): string[] => text.replace(/[‹›]/g, '`').split(/\n */)
