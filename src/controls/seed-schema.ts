import { Email, z } from '../http/schema.js'

const Hash = z.uuid()
const Hex = (prefix: string) => z.string().check(z.regex(new RegExp(`^${prefix}_[0-9a-f]{32}$`)))
/** Not digits alone: those would be read as a twin's id. */
const Hostname = z.string().check(z.regex(/^(?!\d+$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/))

/**
 * What a sandbox begins with, and what is added to one: digital quantities are named by shortcode or hash,
 * accounts by name, users by email, be they of this seed or made before.
 */
export const SeedSchema = z.object({
  digital_quantities: z.optional(
    z.array(
      z.object({
        name: z.string(),
        shortcode: z.string(),
        shortdescription: z.optional(z.string()),
        decimals: z.optional(z.int().check(z.minimum(0), z.maximum(9))),
      }),
    ),
  ),
  /** Each gets a primary twin, in `dq` or the first digital quantity. */
  accounts: z.optional(
    z.array(
      z.object({
        name: z.string(),
        businessName: z.optional(z.string()),
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
      z.object({
        email: Email,
        client_id: z.optional(Hex('mid')),
        hostname: z.optional(Hostname),
        balance: z.optional(z.number()),
      }),
    ),
  ),
  /** Twins beside the primary ones. */
  twins: z.optional(
    z.array(
      z.object({
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
      z.object({
        account: z.string(),
        descriptor: z.string(),
        cost: z.number(),
        dq: z.optional(z.string()),
        hash: z.optional(Hash),
        /** It pays its readers, once each, rather than being paid for. */
        payback: z.optional(z.boolean()),
        /** One of the account's twins; the primary one where absent. */
        hostname: z.optional(Hostname),
      }),
    ),
  ),
})

export type Seed = z.output<typeof SeedSchema>
