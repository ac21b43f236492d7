import { type Client, isRefusal } from '../../adapters/client.js'
import { suggestName } from '../../src/base/text/nearest-name.js'
import { eventTypes } from '../../src/jobs/events/event-types.js'
import { Refusal } from '../refusal.js'
import { type AccountFlags, type Connected, connect, type Outside } from './running-service.js'

/** Makes an event happen in a running sandbox, and prints the events of the account that it caused. Throws `Refusal`. */
export async function trigger(type: string, flags: AccountFlags, outside: Outside): Promise<void> {
  const run = triggers[type]
  if (!run && !/^client(\.[a-z0-9_-]+)+$/.test(type)) throw unknownTrigger(type)
  const connected = await connect(flags, outside)
  const { account, url } = connected
  const [newest] = (await account.events.list({ limit: 1 })).events
  try {
    await (run ? run(new World(connected)) : account.events.create({ type }))
  } catch (error) {
    if (!isRefusal(error)) throw error
    throw new Refusal(`${url} refused ${error.operation}: ${error.message}`, { cause: error })
  }
  const caused = (await account.events.list({ limit: 100 })).events.filter(({ id }) => id > (newest?.id ?? 0)).reverse()
  for (const event of caused) outside.print([`#${event.id}`, event.type, event.subject].filter(Boolean).join(' '))
  if (!caused.some((event) => event.type === type)) throw new Refusal(`${type} did not happen at ${url}`)
}

function unknownTrigger(type: string): Refusal {
  const known = Object.keys(triggers)
  const what = type in eventTypes ? `"${type}" cannot be triggered.` : `"${type}" is not a type of event.`
  return new Refusal(`${what}${suggestName(type, known)} Known: ${known.join(', ')} and client.ANYTHING`)
}

/** Makes an event happen, with new things: nothing that the sandbox holds is used up. */
export type Trigger = (world: World) => Promise<unknown>

const PRICE = 0.25
/** The port of a service that no machine has any more. */
const NOBODY_LISTENS = 'http://127.0.0.1:9/'

/** What triggers need: an account that sells, and someone who pays. */
class World {
  readonly account: Client

  constructor(readonly connected: Connected) {
    this.account = connected.account
  }

  async payer(): Promise<Client> {
    const { account, service } = this.connected
    const [credentials] = (await account.users.create({ email: newEmail() })).secrets
    if (!credentials) throw new TypeError('A new user has no credentials.')
    const payer = service.as(credentials)
    for (const twin of (await payer.twins.list()).twins) await this.fund(twin.hostname)
    return payer
  }

  fund(hostname: string): Promise<unknown> {
    return this.connected.service.twins.fund({ hostname, amount: 10 })
  }

  async dq(): Promise<string> {
    const [dq] = (await this.connected.service.digitalQuantities.list()).digital_quantities
    if (dq === undefined) throw new TypeError('The service has no digital quantity.')
    return dq
  }

  async twin() {
    const twin = await this.account.twins.create({ dq: await this.dq() })
    await this.fund(twin.hostname)
    return twin
  }

  async commodity(): Promise<string> {
    const fields = { descriptor: 'TRIGGER', dq: await this.dq(), cost: PRICE, twin_id: (await this.twin()).id }
    return (await this.account.commodities.create(fields)).hash
  }

  /** The id of a new item. By default the service itself delivers it. */
  async item(external_endpoint = `${this.connected.url}/v4/dq`): Promise<number> {
    const item = { name: 'Trigger', description: 'For farthing trigger.', price: PRICE, external_endpoint }
    const service = { service_method: 'GET', service_schema: { type: 'object' } } as const
    return (await this.account.catalogItems.create({ ...item, ...service })).id
  }
}

const newEmail = () => `trigger-${crypto.randomUUID().slice(0, 8)}@example.test`

export const triggers: Readonly<Record<string, Trigger>> = {
  'payment.created': async (world) => (await world.payer()).payments.create(await world.commodity()),
  'payment.validated': async (world) => {
    const hash = await world.commodity()
    const { nonce, timestamp } = await (await world.payer()).payments.create(hash)
    return world.account.payments.validate(hash, { nonce, timestamp })
  },
  'payment.reversed': (world) => buy(world, NOBODY_LISTENS),
  'purchase.paid': (world) => buy(world),
  'purchase.reversed': (world) => buy(world, NOBODY_LISTENS),
  'checkout.created': async (world) => world.account.checkouts.create({ catalog_item_id: await world.item() }),
  'checkout.paid': async (world) => {
    const { token } = await world.account.checkouts.create({ catalog_item_id: await world.item() })
    return (await world.payer()).checkouts.complete(token)
  },
  'transfer.completed': async (world) =>
    (await world.payer()).transfers.create({ address: (await world.twin()).hostname, amount: PRICE }),
  'transfer.invited': (world) => invite(world),
  'transfer.cancelled': async (world) => world.account.transfers.cancel((await invite(world)).id),
  'catalog.created': (world) => world.item(),
  'catalog.updated': async (world) => world.account.catalogItems.update(await world.item(), { featured: true }),
  'catalog.archived': async (world) => world.account.catalogItems.archive(await world.item()),
  'catalog.restored': async (world) => {
    const id = await world.item()
    await world.account.catalogItems.archive(id)
    return world.account.catalogItems.restore(id)
  },
}

async function buy(world: World, endpoint?: string): Promise<unknown> {
  const id = await world.item(endpoint)
  // A seller that does not deliver is refused, and that is the event.
  return (await world.payer()).purchases.create.try(id, {})
}

/** The account sends value to someone who is not there yet. */
async function invite({ account, connected }: World) {
  const [primary] = (await account.twins.list()).twins
  if (primary) await connected.service.twins.fund({ hostname: primary.hostname, amount: 1 })
  return account.transfers.create({ address: newEmail(), amount: PRICE })
}
