import type { Fault } from '../../onion/fault.js'

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
