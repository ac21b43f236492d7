import { Amount, ContentHash, component, HashPath, z } from '../../../http/fields/schema.js'
import { noContent } from '../../../http/reply.js'
import { defineRoutes, route } from '../../../http/route.js'
import { listedCollections, listRows, refusedListings } from '../rows.js'
import { ActAsShape, callerControls } from '../sandbox.js'
import { REHEARSAL_ID, rehearsalControls } from '../service-controls.js'
import { CommodityChangeShape, control, RehearsalReportShape, RowQueryShape, WalletOrderShape } from '../shapes.js'
import { readCredentials, stateControls, walletControls } from '../state-controls.js'

const client = { client_id: z.TextId, client_secret: z.secret(z.string()) }

export const dataRoutes = defineRoutes('sandbox', {
  readCredentials: route({
    ...control('GET', '/_sandbox/credentials'),
    summary: 'Read the credentials of everything that was seeded, at the start or later, as long as they work.',
    result: z.object({
      accounts: z.array(z.object({ name: z.string(), public_secret: z.TextId, ...client })),
      users: z.array(z.object({ email: z.string(), code: z.secret(z.optional(z.string())), ...client })),
    }),
    async handle(_call, service) {
      const { accounts, users } = await readCredentials(service)
      return { accounts: [...accounts], users: [...users] }
    },
  }),

  actAsCaller: route({
    ...control('POST', '/_sandbox/act-as'),
    summary: 'Make a credential of any caller, such as `user:2`. Send the headers of the answer with each call.',
    body: ActAsShape,
    status: 201,
    result: z.object({ principal: z.string(), headers: z.secret(z.record(z.string(), z.string())) }),
    errors: ['not_found', 'field_invalid'],
    async handle({ body: { principal, by } }, service) {
      const { headers } = await callerControls(service).actAs(principal, { by })
      return { principal, headers: { ...headers } }
    },
  }),

  updateCommodity: route({
    ...control('PUT', '/_sandbox/commodities/:hash'),
    summary: 'Change the name or the price of a commodity for later payments.',
    params: HashPath,
    body: CommodityChangeShape,
    result: z.object({
      ...{ hash: ContentHash, descriptor: z.string(), dq: ContentHash, cost: Amount, hostname: z.Hostname },
    }),
    errors: ['not_found', 'amount_invalid'],
    handle: ({ params, body }, service) => stateControls(service).updateCommodity(params.hash, body),
  }),

  listCollections: route({
    ...control('GET', '/_sandbox/rows'),
    summary: 'List the collections of the state, with what their fields refer to.',
    result: z.object({
      collections: z.array(z.object({ name: z.string(), refs: z.record(z.string(), z.string()) })),
    }),
    async handle(_call, service) {
      const collections = listedCollections(service).map(({ name, refs = {} }) => ({
        name,
        refs: Object.fromEntries(Object.entries(refs).flatMap(([field, to]) => (to ? [[field, to]] : []))),
      }))
      return { collections }
    },
  }),

  listRows: route({
    ...control('GET', '/_sandbox/rows/:collection'),
    summary: 'List the rows of a collection as they are stored, newest first, without secrets.',
    params: z.object({ collection: z.string() }),
    query: RowQueryShape,
    result: z.object({ rows: z.array(z.record(z.string(), z.unknown())), next: z.nullable(z.string()) }),
    errors: ['not_found', 'cursor_invalid'],
    handle: ({ params, query }, service) =>
      service.storage.read((tx) => listRows(tx, service, params.collection, query)),
  }),
})

const LinkedWallet = component('LinkedWallet', {
  address: z.TextId,
  hostname: z.Hostname,
  balances: z.record(z.string(), Amount),
  delegate: z.secret(z.optional(ContentHash)),
  connection: z.optional(z.Id),
  private_key: z.secret(z.optional(z.string())),
})

export const walletRoutes = defineRoutes('sandbox', {
  linkWallet: route({
    ...control('POST', '/_sandbox/wallets'),
    summary: 'Link an address to a twin, a delegate or an app, so that its signatures pay.',
    body: WalletOrderShape,
    status: 201,
    result: LinkedWallet,
    errors: ['not_found', 'already_exists', 'field_invalid'],
    handle: ({ body }, service) => walletControls(service).link(body),
  }),
  listWallets: route({
    ...control('GET', '/_sandbox/wallets'),
    summary: 'List the addresses that pay from a twin, with their balances.',
    result: z.object({ wallets: z.array(LinkedWallet) }),
    async handle(_call, service) {
      return { wallets: await walletControls(service).list() }
    },
  }),
  listDiscoveryRefusals: route({
    ...control('GET', '/_sandbox/discovery'),
    summary: 'List why resources of paid shops were not listed for discovery, the newest first.',
    result: z.object({
      refusals: z.array(z.object({ resource: z.nullable(z.string()), reason: z.string(), at: z.IsoTime })),
    }),
    async read(tx) {
      return { refusals: await refusedListings(tx) }
    },
  }),
})

const IdPath = z.object({ id: z.string().check(z.regex(REHEARSAL_ID)) })

export const rehearsalRoutes = defineRoutes('sandbox', {
  keepRehearsal: route({
    ...control('PUT', '/_sandbox/rehearsals/:id'),
    summary: 'Keep the report of a rehearsal, or replace it.',
    params: IdPath,
    body: RehearsalReportShape,
    status: 204,
    handle: ({ params, body }, service) => rehearsalControls(service).keep(params.id, body).then(noContent),
  }),
  listRehearsals: route({
    ...control('GET', '/_sandbox/rehearsals'),
    summary: 'List the last rehearsals, the newest first.',
    result: z.object({
      rehearsals: z.array(
        z.object({
          ...{ id: z.TextId, at: z.IsoTime, command: z.string() },
          ...{ running: z.boolean(), runs: z.int(), findings: z.int() },
        }),
      ),
    }),
    handle: async (_call, service) => ({ rehearsals: await rehearsalControls(service).list() }),
  }),
  readRehearsal: route({
    ...control('GET', '/_sandbox/rehearsals/:id'),
    summary: 'Read the report of a rehearsal.',
    params: IdPath,
    result: RehearsalReportShape,
    errors: ['not_found'],
    handle: ({ params }, service) => rehearsalControls(service).read(params.id),
  }),
})
