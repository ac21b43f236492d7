import { Descriptor, Email, lineOf, lineUpTo, ServiceMethod, ServiceSchema, z } from '../../../http/fields/schema.js'
import { FaultShape } from '../../faults/fault-shape.js'
import type { Fault } from '../../onion/fault.js'

const Line = lineUpTo(255)
const Text = z.optional(z.string())
const Flag = z.optional(z.boolean())
const Hex = (prefix: string) =>
  z.optional(z.string().check(z.regex(new RegExp(`^${prefix}_[0-9a-f]{32}$`), `${prefix}_ and 32 digits from 0 to f`)))
/** Not only digits, because those are a twin's id. */
const Hostname = z.optional(
  z.string().check(z.regex(/^(?!\d+$)[a-z0-9](?:[.-]*[a-z0-9])*$/, 'a hostname in lower case, not only digits')),
)
const Balance = z.optional(z.number())
const WalletKey = z.optional(z.string().check(z.regex(/^0x[0-9a-fA-F]{64}$/, '0x and 64 hex digits')))

const listOf = <const S extends Parameters<typeof z.strictObject>[0]>(shape: S) =>
  z.optional(z.array(z.strictObject(shape)))

export const SeedSchema = z.strictObject({
  digital_quantities: listOf({
    ...{ name: Line, shortcode: Line, shortdescription: z.optional(Line) },
    decimals: z.optional(z.int().check(z.minimum(0), z.maximum(9))),
  }),
  accounts: listOf({
    ...{ name: Line, businessName: z.optional(Line) },
    ...{ public_secret: Hex('mp'), client_id: Hex('mid'), client_secret: z.secret(Hex('mc')) },
    ...{ dq: Text, hostname: Hostname, balance: Balance },
  }),
  users: listOf({
    ...{ email: Email, email_verified: Flag, client_id: Hex('mid'), hostname: Hostname, balance: Balance },
  }),
  twins: listOf({ account: Text, user: Text, dq: Text, hostname: Hostname, balance: Balance }),
  commodities: listOf({
    ...{ account: z.string(), descriptor: Descriptor, cost: z.number(), dq: Text },
    ...{ hash: z.optional(z.uuid()), payback: Flag, hostname: Hostname },
  }),
  items: listOf({
    ...{ account: z.string(), name: lineOf(64), description: z.optional(z.string().check(z.maxLength(1024))) },
    ...{ price: z.number(), dq: Text, descriptor: z.optional(Descriptor), hostname: Hostname },
    ...{ service_method: z.optional(ServiceMethod), external_endpoint: z.string() },
    ...{ service_schema: z.optional(ServiceSchema), active: Flag, private: Flag, featured: Flag },
  }),
  wallets: listOf({
    account: Text,
    user: Text,
    hostname: Hostname,
    private_key: z.secret(WalletKey),
    balance: Balance,
  }),
  faults: z.optional(z.array(FaultShape)),
})

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Checked = z.output<typeof SeedSchema>
/** Whether the schema and the type agree on each field. `FaultShape` checks against its own type. */
type Agreed = {
  [Name in keyof Checked | keyof Seed]: Name extends 'faults'
    ? true
    : Same<Checked[Name & keyof Checked], Seed[Name & keyof Seed]>
}
true satisfies false extends Agreed[keyof Agreed] ? false : true

/**
 * The initial content of a sandbox, or an addition to it. Digital quantities are named by shortcode or hash, accounts
 * by name, users by email. They may already exist. `SeedSchema` checks it. It is written out, so that the declarations
 * of the package name no other package.
 */
export type Seed = {
  digital_quantities?: SeedDigitalQuantity[] | undefined
  /** Each account gets a primary twin in `dq`. Default: the first digital quantity. */
  accounts?: SeedAccount[] | undefined
  users?: SeedUser[] | undefined
  /** Further twins. */
  twins?: SeedTwin[] | undefined
  commodities?: SeedCommodity[] | undefined
  /** Catalog items, each with its own commodity. */
  items?: SeedItem[] | undefined
  /** Addresses of x402 and MPP, by whose signatures a twin pays. */
  wallets?: SeedWallet[] | undefined
  /** Failures on purpose. They live in the process: each start and each reset arms them again. */
  faults?: Fault[] | undefined
}

type SeedDigitalQuantity = {
  name: string
  shortcode: string
  shortdescription?: string | undefined
  /** 0 to 9. */
  decimals?: number | undefined
}

type SeedAccount = {
  name: string
  businessName?: string | undefined
  /** `mp_` and 32 digits from 0 to f. */
  public_secret?: string | undefined
  /** `mid_` and 32 digits from 0 to f. */
  client_id?: string | undefined
  /** `mc_` and 32 digits from 0 to f. */
  client_secret?: string | undefined
  dq?: string | undefined
  hostname?: string | undefined
  balance?: number | undefined
}

type SeedUser = {
  email: string
  /** Whether the user has proven their email. Default: true. */
  email_verified?: boolean | undefined
  /** `mid_` and 32 digits from 0 to f. */
  client_id?: string | undefined
  hostname?: string | undefined
  balance?: number | undefined
}

type SeedTwin = {
  account?: string | undefined
  user?: string | undefined
  dq?: string | undefined
  hostname?: string | undefined
  balance?: number | undefined
}

type SeedWallet = {
  account?: string | undefined
  user?: string | undefined
  /** One of their twins. Default: the primary one. */
  hostname?: string | undefined
  /** A test key: `0x` and 64 hex digits. It is not stored. Default: one that is derived. */
  private_key?: string | undefined
  /** Issued to the twin, in USDC. */
  balance?: number | undefined
}

type SeedCommodity = {
  account: string
  descriptor: string
  cost: number
  dq?: string | undefined
  /** A UUID. */
  hash?: string | undefined
  /** Whether it pays its users, once each. */
  payback?: boolean | undefined
  /** One of the account's twins. Default: the primary one. */
  hostname?: string | undefined
}

type SeedItem = {
  account: string
  name: string
  description?: string | undefined
  price: number
  dq?: string | undefined
  descriptor?: string | undefined
  /** One of the account's twins. Default: the primary one. */
  hostname?: string | undefined
  /** Default: GET. */
  service_method?: 'GET' | 'POST' | 'PUT' | undefined
  /** A URL, or a path of the service that begins with `/`. */
  external_endpoint: string
  /** Schema of the arguments. Default: no arguments. */
  service_schema?: Record<string, unknown> | undefined
  active?: boolean | undefined
  private?: boolean | undefined
  featured?: boolean | undefined
}
