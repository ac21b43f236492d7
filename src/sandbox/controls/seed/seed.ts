import type { Owner } from '../../../base/owner.js'
import { problem } from '../../../base/problem.js'
import type { SandboxContext, ServiceContext } from '../../../http/context.js'
import { accountByPublicSecret, accounts, createAccount } from '../../../identity/accounts/account.js'
import { clients, clientsOf, userClientSecret } from '../../../identity/tokens/client.js'
import { createUser, userByEmail } from '../../../identity/users/user.js'
import { createCatalogItem, type ShownItem } from '../../../market/catalog/item.js'
import { commodities, createCommodity, type ShownCommodity } from '../../../money/commodities/commodity.js'
import {
  allQuantities,
  type DigitalQuantityRow,
  digitalQuantities,
  quantityHash,
} from '../../../money/digital-quantities/digital-quantity.js'
import {
  createTwin,
  firstTwinOf,
  primaryTwin,
  type TwinRow,
  twinByHostname,
  twinKey,
} from '../../../money/twins/twin.js'
import { allRows } from '../../../storage/page.js'
import type { Reader, Writer } from '../../../storage/storage.js'
import { fixCredentials } from './credentials.js'
import { fund } from './fund.js'
import { createQuantity } from './quantity.js'
import type { Seed } from './seed-schema.js'

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
}

/**
 * Creates everything that a seed names, or nothing.
 * Throws `already_exists`, `email_taken`, `dq_unknown`, `twin_unknown`, `amount_invalid`, `field_invalid`,
 * `upstream_refused`, `plan_limit_reached`.
 */
export async function plantSeed(tx: Writer, seed: Seed, service: ServiceContext): Promise<Seeded> {
  const quantities = await plantQuantities(tx, seed.digital_quantities ?? [], service)
  const accounts = await plantAccounts(tx, seed.accounts ?? [], service)
  const users = await plantUsers(tx, seed.users ?? [], service)
  const names = await accountNames(tx)
  const twins = await plantTwins(tx, seed.twins ?? [], names, service)
  const commodities = await plantCommodities(tx, seed.commodities ?? [], names, service)
  const items = await plantItems(tx, seed.items ?? [], names, service)
  const digital_quantities = quantities.map(({ id: dq, shortcode }) => ({ dq, shortcode }))
  return { digital_quantities, accounts, users, twins, commodities, items }
}

/** Returns a function that creates this seed, with credentials from the service's key. */
export const seedPlanter =
  (seed: Seed): SandboxContext['plantSeed'] =>
  async (tx, service) => {
    await plantSeed(tx, fixCredentials(seed, service.keys), service)
  }

/** Ids of existing accounts by name. */
type AccountNames = ReadonlyMap<string, readonly number[]>

async function accountNames(tx: Reader): Promise<AccountNames> {
  const names = new Map<string, number[]>()
  for await (const { id, name } of allRows(tx, accounts, { index: 'id', prefix: [] }))
    if (name !== null) names.set(name, [...(names.get(name) ?? []), id])
  return names
}

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
    await refuseKnownClient(tx, item.client_id)
    await refuseKnownPublicSecret(tx, item.public_secret)
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
    await refuseKnownClient(tx, client_id)
    await refuseKnownHostname(tx, hostname)
    const at = service.clock.now()
    const user = await createUser(tx, { email, at, madeBy: null, proven, clientId: client_id, hostname }, service)
    const twin = await firstTwinOf(tx, `user:${user.id}`)
    if (balance !== 0) await fund(tx, { hostname: twin.hostname, amount: balance }, service)
    const [client] = await clientsOf(tx, 'user', user.id)
    const secret = { client_id: client?.id ?? '', client_secret: userClientSecret(client?.id ?? '', service) }
    made.push({ id: user.id, email: user.email, ...secret, twin: shown(twin, balance, service) })
  }
  return made
}

async function plantTwins(tx: Writer, items: Items<'twins'>, names: AccountNames, service: ServiceContext) {
  const made = []
  for (const item of items) made.push(await plantTwin(tx, await twinOwner(tx, item, names), item, service))
  return made
}

async function twinOwner(tx: Reader, { account, user }: Items<'twins'>[number], names: AccountNames): Promise<Owner> {
  if (account !== undefined && user === undefined) return ownerOf(accountNamed(names, account))
  if (user !== undefined && account === undefined) return userKnownAs(tx, user)
  throw problem('field_invalid', { detail: 'A twin in a seed needs either "account" or "user".' })
}

async function plantTwin(
  tx: Writer,
  owner: Owner,
  { dq, hostname, balance = 0 }: Items<'twins'>[number],
  service: ServiceContext,
): Promise<SeededTwin> {
  await refuseKnownHostname(tx, hostname)
  const quantity = await quantityNamed(tx, dq)
  const twin = await createTwin(tx, { owner, dq: quantity.id, at: service.clock.now(), hostname }, service)
  if (balance !== 0) await fund(tx, { hostname: twin.hostname, amount: balance, dq: quantity.id }, service)
  return shown(twin, balance, service)
}

async function plantCommodities(tx: Writer, items: Items<'commodities'>, names: AccountNames, service: ServiceContext) {
  const made = []
  for (const { account, descriptor, cost, dq, hash, hostname, payback } of items) {
    if (hash !== undefined && (await tx.get(commodities, hash))) throw exists(`The commodity ${hash}`)
    const owner = ownerOf(accountNamed(names, account))
    const twin = await payeeNamed(tx, owner, hostname)
    const order = { descriptor, cost, dq: (await quantityNamed(tx, dq)).id, twinId: twin?.id ?? 0, owner }
    made.push(await createCommodity(tx, { ...order, hash, payback, at: service.clock.now() }, service))
  }
  return made
}

async function plantItems(tx: Writer, items: Items<'items'>, names: AccountNames, service: ServiceContext) {
  const made: ShownItem[] = []
  for (const { account, hostname, dq, description = '', external_endpoint, ...terms } of items) {
    const accountId = accountNamed(names, account)
    const twin = await payeeNamed(tx, ownerOf(accountId), hostname)
    const called = external_endpoint.startsWith('/') ? service.baseUrl + external_endpoint : external_endpoint
    const { service_method = 'GET', service_schema = { type: 'object', properties: {} }, ...rest } = terms
    const item = { ...rest, description, service_method, service_schema, external_endpoint: called }
    const place = { accountId, at: service.clock.now(), dq: (await quantityNamed(tx, dq)).id, twin_id: twin?.id ?? 0 }
    made.push(await createCatalogItem(tx, { ...item, ...place }, service))
  }
  return made
}

const payeeNamed = (tx: Reader, owner: Owner, hostname: string | undefined): Promise<TwinRow | undefined> =>
  hostname === undefined ? primaryTwin(tx, owner) : twinByHostname(tx, hostname)

/** Returns the newest digital quantity with a shortcode, so that a seed's own comes first. */
async function quantityNamed(tx: Reader, name: string | undefined): Promise<DigitalQuantityRow> {
  const all = await allQuantities(tx)
  const found = name === undefined ? all[0] : all.findLast(({ id, shortcode }) => id === name || shortcode === name)
  if (!found) throw problem('dq_unknown', { detail: `The seed refers to "${name}". Add it, or correct the name.` })
  return found
}

const ownerOf = (accountId: number): Owner => `account:${accountId}`

function accountNamed(names: AccountNames, name: string): number {
  const [id, ...more] = names.get(name) ?? []
  if (id !== undefined && more.length === 0) return id
  const known = id === undefined ? 'which nobody has' : `which ${more.length + 1} accounts have`
  throw problem('field_invalid', { detail: `The seed refers to an account by the name "${name}", ${known}.` })
}

async function userKnownAs(tx: Reader, email: string): Promise<Owner> {
  const user = await userByEmail(tx, email)
  if (user) return `user:${user.id}`
  throw problem('field_invalid', {
    detail: `The seed refers to the user ${email}, who does not exist. Add the user to the seed.`,
  })
}

async function refuseKnownPublicSecret(tx: Reader, publicSecret: string | undefined): Promise<void> {
  if (publicSecret !== undefined && (await accountByPublicSecret(tx, publicSecret)))
    throw exists(`The public_secret ${publicSecret}`)
}

async function refuseKnownClient(tx: Reader, clientId: string | undefined): Promise<void> {
  if (clientId !== undefined && (await tx.get(clients, clientId))) throw exists(`The client ${clientId}`)
}

async function refuseKnownHostname(tx: Reader, hostname: string | undefined): Promise<void> {
  if (hostname !== undefined && (await twinByHostname(tx, hostname))) throw exists(`The twin ${hostname}`)
}

const exists = (what: string) =>
  problem('already_exists', { detail: `${what} already exists. Call POST /_sandbox/reset to start over.` })

const shown = (twin: TwinRow, balance: number, service: ServiceContext): SeededTwin => ({
  id: twin.id,
  hostname: twin.hostname,
  key: twinKey(twin, service),
  balance,
})
