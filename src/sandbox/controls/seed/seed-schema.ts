import { Descriptor, Email, lineOf, ServiceMethod, ServiceSchema, z } from '../../../http/fields/schema.js'
import { FaultShape } from '../../faults/fault-shape.js'

const Hash = z.uuid()
const Hex = (prefix: string) =>
  z.string().check(z.regex(new RegExp(`^${prefix}_[0-9a-f]{32}$`), `${prefix}_ and 32 digits from 0 to f`))
/** Not only digits, because those are a twin's id. */
const Hostname = z
  .string()
  .check(z.regex(/^(?!\d+$)[a-z0-9](?:[.-]*[a-z0-9])*$/, 'a hostname in lower case, not only digits'))

/**
 * The initial content of a sandbox, or an addition to it. Digital quantities are named by shortcode or hash, accounts
 * by name, users by email. They may already exist.
 */
export const SeedSchema = z.strictObject({
  digital_quantities: z.optional(
    z.array(
      z.strictObject({
        name: lineOf(255, 0),
        shortcode: lineOf(255, 0),
        shortdescription: z.optional(lineOf(255, 0)),
        decimals: z.optional(z.int().check(z.minimum(0), z.maximum(9))),
      }),
    ),
  ),
  /** Each account gets a primary twin in `dq`. Default: the first digital quantity. */
  accounts: z.optional(
    z.array(
      z.strictObject({
        name: lineOf(255, 0),
        businessName: z.optional(lineOf(255, 0)),
        public_secret: z.optional(Hex('mp')),
        client_id: z.optional(Hex('mid')),
        client_secret: z.optional(Hex('mc')),
        dq: z.optional(z.string()),
        hostname: z.optional(Hostname),
        balance: z.optional(z.number()),
      }),
    ),
  ),
  users: z.optional(
    z.array(
      z.strictObject({
        email: Email,
        /** Whether the user has proven their email. Default: true. */
        email_verified: z.optional(z.boolean()),
        client_id: z.optional(Hex('mid')),
        hostname: z.optional(Hostname),
        balance: z.optional(z.number()),
      }),
    ),
  ),
  /** Further twins. */
  twins: z.optional(
    z.array(
      z.strictObject({
        account: z.optional(z.string()),
        user: z.optional(z.string()),
        dq: z.optional(z.string()),
        hostname: z.optional(Hostname),
        balance: z.optional(z.number()),
      }),
    ),
  ),
  commodities: z.optional(
    z.array(
      z.strictObject({
        account: z.string(),
        descriptor: Descriptor,
        cost: z.number(),
        dq: z.optional(z.string()),
        hash: z.optional(Hash),
        /** Whether it pays its users, once each. */
        payback: z.optional(z.boolean()),
        /** One of the account's twins. Default: the primary one. */
        hostname: z.optional(Hostname),
      }),
    ),
  ),
  /** Catalog items, each with its own commodity. */
  items: z.optional(
    z.array(
      z.strictObject({
        account: z.string(),
        name: lineOf(64),
        description: z.optional(z.string().check(z.maxLength(1024))),
        price: z.number(),
        dq: z.optional(z.string()),
        descriptor: z.optional(Descriptor),
        /** One of the account's twins. Default: the primary one. */
        hostname: z.optional(Hostname),
        /** Default: GET. */
        service_method: z.optional(ServiceMethod),
        /** A URL, or a path of the service that begins with `/`. */
        external_endpoint: z.string(),
        /** Schema of the arguments. Default: no arguments. */
        service_schema: z.optional(ServiceSchema),
        active: z.optional(z.boolean()),
        private: z.optional(z.boolean()),
        featured: z.optional(z.boolean()),
      }),
    ),
  ),
  /** Failures on purpose. They live in the process: each start and each reset arms them again. */
  faults: z.optional(z.array(FaultShape)),
})

export type Seed = z.output<typeof SeedSchema>
