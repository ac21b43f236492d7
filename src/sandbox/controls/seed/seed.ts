import type { Owner } from '../../../base/owner.js'
import { load } from '../../../base/parts.js'
import { problem } from '../../../base/problem.js'
import type { ServiceContext } from '../../../http/context.js'
import { accountByPublicSecret, createAccount } from '../../../identity/accounts/account.js'
import { clients, clientsOf, userClientSecret } from '../../../identity/tokens/token.js'
import { createUser, userByEmail } from '../../../identity/users/user.js'
import type { ShownItem } from '../../../market/catalog/item.js'
import { commodities, createCommodity, type ShownCommodity } from '../../../money/commodities/commodity.js'
import {
  type DigitalQuantityRow,
  digitalQuantities,
  quantityHash,
} from '../../../money/digital-quantities/digital-quantity.js'
import {
  createQuantity,
  createTwin,
  firstTwinOf,
  type TwinRow,
  twinByHostname,
  twinKey,
} from '../../../money/twins/twin.js'
import type { Writer } from '../../../storage/storage.js'
import type { SandboxParts } from '../../onion/context.js'
import { fixCredentials } from './credentials.js'
import { fund } from './fund.js'
import type { plantItems } from './items.js'
import {
  type AccountNames,
  accountNamed,
  accountNames,
  accountOwner,
  payeeNamed,
  quantityNamed,
  twinOwner,
} from './names.js'
import type { Seed } from './seed-schema.js'
import type { plantWallets, SeededWallet } from './wallets.js'

type Items<K extends keyof Seed> = NonNullable<Seed[K]>

/** A twin that a seed created. */
export interface SeededTwin {
  id: number
  hostname: string
  key: string
  balance: number
}

/** Everything that a seed created, with credentials. */
export interface Seeded {
  digital_quantities: { dq: string; shortcode: string }[]
  accounts: {
    id: number
    name: string
    public_secret: string
    client_id: string
    client_secret: string
    twin: SeededTwin
  }[]
  users: { id: number; email: string; client_id: string; client_secret: string; twin: SeededTwin }[]
  twins: SeededTwin[]
  commodities: ShownCommodity[]
  items: ShownItem[]
  /** Absent if the seed links none. */
  wallets?: SeededWallet[]
}

/** Creates everything that a seed names, or nothing. */
async function plantSeed(
  tx: Writer,
  { seed, plantItems, plantWallets }: { readonly seed: Seed } & SeedParts,
  service: ServiceContext,
): Promise<Seeded> {
  const quantities = await plantQuantities(tx, seed.digital_quantities ?? [], service)
  const accounts = await plantAccounts(tx, seed.accounts ?? [], service)
  const users = await plantUsers(tx, seed.users ?? [], service)
  const names = await accountNames(tx)
  const twins = await plantTwins(tx, seed.twins ?? [], names, service)
  const commodities = await plantCommodities(tx, seed.commodities ?? [], names, service)
  const items = await plantItems(tx, seed.items ?? [], names, service)
  const digital_quantities = quantities.map(({ id: dq, shortcode }) => ({ dq, shortcode }))
  const wallets = seed.wallets && { wallets: await plantWallets(tx, seed.wallets, names, service) }
  return { digital_quantities, accounts, users, twins, commodities, items, ...wallets }
}

/** Adds a seed to a running sandbox. Returns it with the credentials that it was given, and what it created. */
export async function addSeed(given: Seed, service: ServiceContext) {
  const parts = await loadParts(given)
  return service.storage.write(async (tx) => {
    const seed = await fixCredentials(given, service.keys, tx)
    return { fixed: seed, seeded: await plantSeed(tx, { seed, ...parts }, service) }
  })
}

/** Returns a function that loads what creates this seed, with credentials from the service's key. */
export const seedLoader =
  (given: Seed): SandboxParts['loadSeed'] =>
  async () => {
    const parts = await loadParts(given)
    return async (tx, service) => {
      const seed = await fixCredentials(given, service.keys)
      await plantSeed(tx, { seed, ...parts }, service)
    }
  }

interface SeedParts {
  readonly plantItems: typeof plantItems | (() => Promise<ShownItem[]>)
  readonly plantWallets: typeof plantWallets | (() => Promise<SeededWallet[]>)
}

/** Only seeds with catalog items load what checks their schemas, and only those with wallets load what signatures need. */
const loadParts = async ({ items = [], wallets = [] }: Seed): Promise<SeedParts> => ({
  plantItems: items.length === 0 ? async () => [] : (await load(() => import('./items.js'))).plantItems,
  plantWallets: wallets.length === 0 ? async () => [] : (await load(() => import('./wallets.js'))).plantWallets,
})

async function plantQuantities(tx: Writer, items: Items<'digital_quantities'>, service: ServiceContext) {
  const made: DigitalQuantityRow[] = []
  for (const { shortdescription = '', decimals = 3, ...names } of items) {
    const definition = { ...names, shortdescription, decimals }
    if (await tx.get(digitalQuantities, quantityHash(definition))) throw exists(`The digital quantity "${names.name}"`)
    made.push(await createQuantity(tx, definition, service))
  }
  return made
}

async function plantAccounts(tx: Writer, items: Items<'accounts'>, service: ServiceContext) {
  const made = []
  for (const item of items) {
    await refuseKnown('The client', item.client_id, (id) => tx.get(clients, id))
    await refuseKnown('The public_secret', item.public_secret, (secret) => accountByPublicSecret(tx, secret))
    const at = service.clock.now()
    const fixed = { publicSecret: item.public_secret, clientId: item.client_id, clientSecret: item.client_secret }
    const names = { name: item.name, businessName: item.businessName }
    const { account, client, client_secret } = await createAccount(tx, { at, ...names, ...fixed }, service)
    const twin = await plantTwin(tx, `account:${account.id}`, item, service)
    const { id, public_secret } = account
    made.push({ id, name: item.name, public_secret, client_id: client.id, client_secret, twin })
  }
  return made
}

async function plantUsers(tx: Writer, items: Items<'users'>, service: ServiceContext) {
  const made = []
  for (const { email, email_verified: proven = true, client_id, hostname, balance = 0 } of items) {
    if (await userByEmail(tx, email)) throw problem('email_taken', { detail: `The email is ${email}.` })
    await refuseKnown('The client', client_id, (id) => tx.get(clients, id))
    await refuseKnown('The twin', hostname, (name) => twinByHostname(tx, name))
    const at = service.clock.now()
    const user = await createUser(tx, { email, at, madeBy: null, proven, clientId: client_id, hostname }, service)
    const twin = await firstTwinOf(tx, `user:${user.id}`)
    if (balance !== 0) await fund(tx, { hostname: twin.hostname, amount: balance }, service)
    const [client] = await clientsOf(tx, 'user', user.id)
    const secret = { client_id: client?.id ?? '', client_secret: userClientSecret(client?.id ?? '', service) }
    made.push({ id: user.id, email: user.email, ...secret, twin: seededTwin(twin, balance, service) })
  }
  return made
}

async function plantTwins(tx: Writer, items: Items<'twins'>, names: AccountNames, service: ServiceContext) {
  const made = []
  for (const item of items) made.push(await plantTwin(tx, await twinOwner(tx, item, names), item, service))
  return made
}

async function plantTwin(
  tx: Writer,
  owner: Owner,
  { dq, hostname, balance = 0 }: Items<'twins'>[number],
  service: ServiceContext,
): Promise<SeededTwin> {
  await refuseKnown('The twin', hostname, (name) => twinByHostname(tx, name))
  const quantity = await quantityNamed(tx, dq)
  const twin = await createTwin(tx, { owner, dq: quantity.id, at: service.clock.now(), hostname }, service)
  if (balance !== 0) await fund(tx, { hostname: twin.hostname, amount: balance, dq: quantity.id }, service)
  return seededTwin(twin, balance, service)
}

async function plantCommodities(tx: Writer, items: Items<'commodities'>, names: AccountNames, service: ServiceContext) {
  const made = []
  for (const { account, descriptor, cost, dq, hash, hostname, payback } of items) {
    await refuseKnown('The commodity', hash, (id) => tx.get(commodities, id))
    const owner = accountOwner(accountNamed(names, account))
    const twin = await payeeNamed(tx, owner, hostname)
    const order = { descriptor, cost, dq: (await quantityNamed(tx, dq)).id, twinId: twin?.id ?? 0, owner }
    made.push(await createCommodity(tx, { ...order, hash, payback, at: service.clock.now() }, service))
  }
  return made
}

async function refuseKnown(what: string, name: string | undefined, find: (name: string) => Promise<unknown>) {
  if (name !== undefined && (await find(name))) throw exists(`${what} ${name}`)
}

const exists = (what: string) =>
  problem('already_exists', { detail: `${what} already exists. Call POST /_sandbox/reset to start over.` })

const seededTwin = (twin: TwinRow, balance: number, service: ServiceContext): SeededTwin => ({
  ...{ id: twin.id, hostname: twin.hostname, key: twinKey(twin, service), balance },
})
