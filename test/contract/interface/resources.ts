import { type Fields, fields, listOf, mapOf } from './shapes.js'

/**
 * The tables of the Micro Payment Service Interface, section 2, and the answers that are made of them. Times of accounts,
 * users and their secrets are digits, all others are integers. Clients must accept both.
 */

const digits = 'Unix seconds in digits'
const times = { created_at: digits, updated_at: digits } as const

const accountSecrets = (clientSecret: 'client secret' | 'null') =>
  [
    fields({ public_secret: 'public secret', ...times }),
    fields({ client_id: 'client id', client_secret: clientSecret, ...times }),
  ] as const

/** The client secret is returned only here. */
export const createdAccount = fields({ id: 'integer', ...times, secrets: accountSecrets('client secret') })

export const account = fields({
  id: 'integer',
  ...times,
  secrets: accountSecrets('null'),
  name: 'string | null',
  businessName: 'string | null',
})

export const updatedAccount = fields({
  id: 'integer',
  name: 'string | null',
  businessName: 'string | null',
  created_at: 'Unix seconds',
  updated_at: 'Unix seconds',
})

const twinFields = { id: 'integer', hostname: 'hostname', balances: mapOf('hash', 'number') } as const
export const twin = fields({ ...twinFields, key: 'UUID' })
/** A page sees no key, and neither does who registers: the key is fetched with the new credentials. */
export const twinWithoutKey = fields({ ...twinFields, key: 'null' })
export const twins = fields({ twins: listOf(twin) }, { next: 'integer | null' })

export const quantities = fields({
  digital_quantities: listOf('hash'),
  metadata: mapOf(
    'hash',
    fields({ name: 'string', shortcode: 'string', shortdescription: 'string' }, { decimals: 'integer' }),
  ),
})

export const commodity = fields({
  hash: 'UUID',
  descriptor: 'string',
  dq: 'hash',
  cost: 'number',
  hostname: 'hostname',
})

const userFields = {
  id: 'integer',
  email: 'email',
  ...times,
  deleted_at: 'Unix seconds in digits | null',
  is_android: 'boolean',
  is_ios: 'boolean',
} as const
const userSecret = fields({
  client_id: 'client id',
  client_secret: 'client secret',
  ...times,
  deleted_at: 'Unix seconds in digits | null',
})
export const user = fields({ ...userFields, secrets: listOf(userSecret) })
/** As others see a user. */
export const userWithoutSecrets = fields(userFields)

export const registered = fields({ account: createdAccount, twin: twinWithoutKey, user: userWithoutSecrets })

export const tokenPair = fields({
  access_token: 'token',
  expires_at: 'Unix seconds',
  refresh_token: 'token',
  refresh_expires_at: 'Unix seconds',
})

export const dispatchParameter = fields({
  id: 'integer',
  kind: 'header, query or url',
  name: 'string',
  sensitive: 'boolean',
  value: 'string | null',
  value_set: 'boolean',
  updated_at: 'ISO 8601 with milliseconds',
})

export const delegateMapping = mapOf('hash', listOf('hash'))
export const verification = fields({
  status: 'integer',
  message: 'string',
  hostname: 'hostname',
  instances: listOf('hash'),
})

export const agentAccount = fields({
  account: fields({ id: 'integer', name: 'string | null' }),
  choosable: 'boolean',
})
export const appliedChange = fields({ approval_id: 'string', change: 'object', result: 'object' })

/** The columns of a binder. */
export const binderRecord = {
  timestamp: 'ISO 8601 with milliseconds',
  fileAction: 'receive or send',
  fileIdentity: 'hash',
  fileType: 'hash',
  amount: 'decimal',
  fromAddress: 'hash',
  destinationAddress: 'empty',
} as const

/** The columns of an inventory. The documentation names only its path. */
export const inventoryRecord = {
  fileIdentity: 'hash',
  issuer: 'hostname',
  fileType: 'hash',
  amount: 'decimal',
  integrity: 'string',
  timestamp: 'ISO 8601 with milliseconds',
} as const

/** `code` tells errors with one status apart, `docs` explains it, and `field` names what is wrong. All are our own design. */
const errorExtras = { code: 'string', docs: 'string', 'field?': 'string' } as const
export const errorWith = (designed: Fields = {}) =>
  fields({ error: 'string', status: 'integer' }, { ...errorExtras, ...designed })
export const errorBody = errorWith()
