import { expect, it } from 'vitest'
import type * as z from '../../../src/http/fields/zod.js'
import type { Answer, Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { operations } from '../../support/contract/operations.js'
import { VISA } from '../../support/scenes/billing.js'
import { advance, fund, pay, stopClock } from '../../support/scenes/market.js'
import { newDelegate, newPersona, twinIdOf } from '../../support/scenes/personas.js'
import { ask, registerDevice } from '../../support/scenes/second-factor.js'
import { linesOf } from '../../support/scenes/statements.js'
import { newCommodity, newPayer, newSeller, newTwin, tokenFor } from '../../support/scenes/world.js'

/** More than a page, and more than one slice of a whole list. */
const MANY = 105

interface Made {
  /** The paths that list what was made. */
  readonly paths: readonly string[]
  readonly token?: string
  /** What identifies the rows that were made. */
  readonly ids: readonly unknown[]
  shown(answer: Answer): readonly unknown[]
}

const idsIn =
  (plural: string, field = 'id') =>
  ({ body }: Answer) =>
    body[plural].map((row: Record<string, unknown>) => row[field])

/** Calls `make` again and again, with time for those limits that count a quarter of an hour or a day. */
async function many<T>(make: (n: number) => Promise<T>, pause?: { call: Call; every: number; duration: string }) {
  const made: T[] = []
  for (let n = 0; n < MANY; n++) {
    if (pause && n > 0 && n % pause.every === 0) await advance(pause.call, pause.duration)
    made.push(await make(n))
  }
  return made
}

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

const fresh = async <T extends Credentials>(call: Call, who: T) => ({
  ...who,
  token: await tokenFor(call, who.clientId, who.clientSecret),
})

/** A holder to whom a persona gave many delegates. */
async function givenMany(call: Call) {
  await stopClock(call)
  const seller = await newSeller(call)
  const holder = await newPayer(call, seller)
  const persona = await newPersona(call, seller)
  const twinId = await twinIdOf(call, holder.token, holder.hostname)
  const delegate = { persona: persona.hash, hostname: holder.hostname }
  const pause = { call, every: 100, duration: '25h' }
  let giver = seller
  const ids = await many(async (n) => {
    if (n % pause.every === 0) giver = await fresh(call, seller)
    return (await newDelegate(call, giver, delegate)).hash
  }, pause)
  return { holder: await fresh(call, holder), persona: persona.hash, twinId, ids }
}

/** Makes many rows for each list that the interface or an existing client shows without `limit` and `after`. */
const shownWhole = {
  async listUsers(call) {
    const { token } = await newSeller(call)
    const create = (n: number) => call('POST', '/v4/user', { token, body: { email: `${n}@example.test` } })
    const ids = await many(async (n) => (await create(n)).body.id)
    return { paths: ['/v2/users'], token, ids, shown: idsIn('users') }
  },
  async listTwins(call) {
    const seed = { accounts: [{ name: 'News' }], twins: Array.from({ length: MANY }, () => ({ account: 'News' })) }
    const { accounts, twins } = (await call('POST', '/_sandbox/seed', { body: seed })).body
    const [{ client_id, client_secret, twin }] = accounts
    const ids = [twin, ...twins].map(({ id }) => id)
    const token = await tokenFor(call, client_id, client_secret)
    return { paths: ['/v4/twins', '/v2/twins'], token, ids, shown: idsIn('twins') }
  },
  async listCommodityTransactions(call) {
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller, { balance: MANY })
    const commodity = await newCommodity(call, seller)
    const ids = await many(async () => (await pay(call, payer, commodity)).id)
    const paths = [`/v4/commodity/${commodity.hash}/transactions`]
    return { paths, token: seller.token, ids, shown: idsIn('transactions') }
  },
  async listAuthorizations(call) {
    await stopClock(call)
    const payer = await newPayer(call, await newSeller(call))
    await registerDevice(call, payer)
    const pause = { call, every: 5, duration: '16m' }
    let asking = payer
    const ids = await many(async (n) => {
      if (n % pause.every === 0) asking = await fresh(call, payer)
      return (await ask(call, asking, { action: 'paywall', detail: {} })).body.id
    }, pause)
    const paths = ['/v3/paywall/authorizations', '/v4/paywall/authorizations']
    return { paths, token: (await fresh(call, payer)).token, ids, shown: idsIn('authorizations') }
  },
  async listTools(call) {
    const { token } = await newSeller(call)
    await call('PUT', '/v4/billing/plan', { token, body: { plan: 'growth', payment_method_id: VISA } })
    const tool = { description: 'Tells a story.', price_per_call: 0.01, service_url: 'https://stories.example.test/' }
    const create = (n: number) => call('POST', '/v4/mcp/tools', { token, body: { ...tool, name: `story_${n}` } })
    const ids = await many(async (n) => (await create(n)).body.tool.id)
    return { paths: ['/v4/mcp/tools'], token, ids, shown: idsIn('tools') }
  },
  async listDelegateMapping(call) {
    const { holder, persona, ids } = await givenMany(call)
    const paths = ['/v4/persona/delegates', '/v3/persona/delegates']
    return { paths, token: holder.token, ids, shown: ({ body }) => body[persona] }
  },
  async verifyPersona(call) {
    const { holder, persona, twinId, ids } = await givenMany(call)
    const paths = ['v4', 'v3'].map((version) => `/${version}/persona/${persona}/verify?twin_id=${twinId}`)
    return { paths, token: holder.token, ids, shown: ({ body }) => body.instances }
  },
  async readInventory(call) {
    const { holder, ids } = await givenMany(call)
    const paths = ['v4', 'v2'].map((version) => `/${version}/twin/${holder.hostname}/inventory`)
    const shown = ({ text }: Answer) =>
      linesOf(text)
        .slice(2)
        .map((line) => line.split(',')[0])
    return { paths, token: holder.token, ids, shown }
  },
  async readBinder(call) {
    const { token } = await newSeller(call)
    const { hostname } = await newTwin(call, token)
    const ids = await many(async (n) => {
      await fund(call, hostname, n + 1)
      return String(n + 1)
    })
    const paths = ['v4', 'v2'].map((version) => `/${version}/twin/${hostname}/binder`)
    return {
      paths,
      token,
      ids,
      shown: ({ text }) =>
        linesOf(text)
          .slice(1)
          .map((line) => line.split(',')[4]),
    }
  },
  listDigitalQuantities: (call) => quantities(call, '/v4/dq'),
  listTwinQuantities: (call) => quantities(call, '/v2/twin/dq'),
} satisfies Readonly<Record<string, (call: Call) => Promise<Made>>>

async function quantities(call: Call, path: string): Promise<Made> {
  const [first] = (await call('GET', path)).body.digital_quantities
  const digital_quantities = Array.from({ length: MANY }, (_, n) => ({ name: `Points ${n}`, shortcode: `P${n}` }))
  const { body } = await call('POST', '/_sandbox/seed', { body: { digital_quantities } })
  const ids = body.digital_quantities.map(({ dq }: { dq: string }) => dq)
  return { paths: [path], ids: [first, ...ids], shown: ({ body }) => body.digital_quantities }
}

/** Lists in stronger answers that never have many rows, or that are read page by page. */
const others: Readonly<Record<string, string>> = {
  createUser: 'one pair of credentials',
  readUser: 'at most three pairs of credentials',
  listCatalogItems: 'clients send limit and offset',
  readOpenidConfiguration: 'what the service can do',
  readJwks: 'the keys of the service',
  registerOidcClient: 'what the client sent',
}

type Definition = z.core.$ZodTypes['_zod']['def']

/** Whether an answer has rows. */
function hasRows(schema: z.core.$ZodType | undefined): boolean {
  if (!schema) return false
  const definition = schema._zod.def as Definition
  switch (definition.type) {
    case 'array':
      return true
    case 'object':
      return Object.values(definition.shape).some(hasRows)
    case 'record':
      return hasRows(definition.valueType)
    case 'optional':
    case 'nullable':
      return hasRows(definition.innerType)
    default:
      return false
  }
}

contract('lists that the interface or a client shows', (start) => {
  it.each(Object.entries(shownWhole))('%s answers every row, under each version', async (_, make) => {
    const { call } = await start()
    const { paths, token, ids, shown }: Made = await make(call)
    for (const path of paths) {
      const answer = await call('GET', path, { ...(token && { token }) })
      expect([answer.status, [...shown(answer)].sort()]).toEqual([200, [...ids].sort()])
    }
  })

  it('are long answers in each runtime, also in a strict mode', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call } = await start({ evidence: 'documented' })
    const { paths, token, ids, shown } = await shownWhole.listTwins(call)
    for (const path of paths) {
      const answer = await call('GET', path, { ...(token && { token }) })
      expect([Object.keys(answer.body), shown(answer)]).toEqual([['twins'], ids.toReversed()])
    }
  })

  it('are all in this table', () => {
    const listing = operations
      .filter(({ evidence, route }) => evidence !== 'designed' && (route.scope ?? 'service') === 'service')
      .filter(({ route: { result, isJsonRpc } }) => hasRows(result) && !isJsonRpc)
    const known = [...Object.keys(shownWhole), ...Object.keys(others)]
    expect([...new Set(listing.map(({ route }) => route.id))].sort()).toEqual(known.sort())
  })
})
