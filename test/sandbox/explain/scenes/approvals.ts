import { expect } from 'vitest'
import { approvedChange, newBusiness, newOwnAccount } from '../../../support/scenes/account-changes.js'
import { answerApproval, requestApproval } from '../../../support/scenes/approvals.js'
import { newItem, WEATHER } from '../../../support/scenes/catalog.js'
import { newAgent } from '../../../support/scenes/oidc.js'
import { registerDevice } from '../../../support/scenes/second-factor.js'
import { newSession } from '../../../support/scenes/world.js'
import { readersAgent, type Scenes, type Shop } from './scene.js'

const ROME = { arguments: { city: 'Rome' } }

/** The reader's agent, and an approval of a purchase that it requested. */
async function requested(shop: Shop, verb?: 'approve' | 'reject') {
  const agent = await readersAgent(shop)
  const wish = { kind: 'purchase', catalog_item_id: shop.item.id, ...ROME }
  const { approval_id } = (await requestApproval(shop.call, agent, wish)).body
  if (verb) await answerApproval(shop.call, { token: shop.reader.token }, approval_id, verb)
  const buy = (body: object = ROME) =>
    shop.ask('POST', `/v4/catalog/items/${shop.item.id}/purchases`, { ...agent, body: { ...body, approval_id } })
  return { agent, approval_id, buy }
}

/** An account that its owner granted to an agent, whose calls can be fixed. */
async function business(shop: Shop) {
  const made = await newBusiness(shop.call)
  shop.known.set('agent:1', made.agent)
  return made
}

/** What the user of an agent must approve. */
export const approvalScenes = {
  approval_required: {
    async provoke(shop) {
      const agent = await readersAgent(shop)
      const { ask, reader, item } = shop
      return {
        request: ask('POST', `/v4/catalog/items/${item.id}/purchases`, { ...agent, body: ROME }),
        facts: { user: reader.id, amount: '0.25 USD', threshold: null, approval_id: expect.stringMatching(/^ap/) },
        says: ['asked for 0.25 USD', reader.email, 'had set no threshold', 'waits for the user'],
      }
    },
  },
  approval_not_given: {
    async provoke(shop) {
      const { approval_id, buy } = await requested(shop)
      return {
        request: buy(),
        facts: { approval_id, approval_status: 'pending', summary: expect.stringContaining('City weather') },
        says: [`The approval ${approval_id} was pending`, 'requested at 2031-05-01 12:00:00 UTC'],
      }
    },
  },
  'approval_not_given (rejected)': {
    async provoke(shop) {
      const { approval_id, buy } = await requested(shop, 'reject')
      return {
        request: buy(),
        facts: { approval_id, approval_status: 'rejected' },
        says: [`The approval ${approval_id} was rejected`, 'Request a new approval'],
      }
    },
  },
  approval_spent: {
    async provoke(shop) {
      const { approval_id, buy } = await requested(shop, 'approve')
      const used = (await buy()).answer
      expect(used.status, used.text).toBe(201)
      const by = used.headers.get('x-request-id')
      return {
        request: buy(),
        facts: { approval_id, spent_at: '2031-05-01 12:00:00 UTC', spent_by: by },
        says: [`The approval ${approval_id} was used at 2031-05-01 12:00:00 UTC by ${by}`],
      }
    },
  },
  approval_mismatch: {
    async provoke(shop) {
      const { approval_id, buy } = await requested(shop, 'approve')
      return {
        request: buy({ arguments: { city: 'Oslo' } }),
        facts: {
          approval_id,
          differing: [{ field: 'arguments', sent: { city: 'Oslo' }, approved: { city: 'Rome' } }],
        },
        says: [`The approval ${approval_id} is for`, '{"city":"Oslo"}', '{"city":"Rome"}'],
      }
    },
  },
  account_not_granted: {
    async provoke(shop) {
      const { id } = await newOwnAccount(shop.call, 'grace@example.test')
      const agent = { token: (await newAgent(shop.call, { email: 'grace@example.test' })).accessToken }
      const change = { kind: 'update_account', name: 'Weather' }
      return {
        request: shop.ask('POST', '/v4/agent/approvals', { ...agent, body: { kind: 'account_change', change } }),
        facts: { user: expect.any(Number), client_id: expect.any(String), accounts: [id] },
        says: ['grace@example.test', 'without a business account', `account:${id}`, 'POST /v4/agent/account-choice'],
        fix: 'none',
      }
    },
  },
  not_choosable: {
    async provoke(shop) {
      const { call, ask, reader } = shop
      const agent = { token: (await newAgent(call, { email: reader.email })).accessToken }
      return {
        request: ask('POST', '/v4/agent/account-choice', agent),
        facts: { user: reader.id, email: reader.email, accounts: [] },
        says: [`${reader.email} belongs to no account`, 'POST /v4/account/register'],
        fix: 'none',
      }
    },
  },
  change_impossible: {
    async provoke(shop) {
      const { call, ask } = shop
      const { agent, session, seller } = await business(shop)
      const item = await newItem(call, seller)
      const change = { kind: 'update_item', catalog_item_id: item.id, name: 'City rain' }
      const approval_id = await approvedChange(call, { agent, session }, change)
      await call('PUT', `/v4/catalog/items/${item.id}`, { token: seller.token, body: { name: 'City snow' } })
      return {
        request: ask('POST', '/v4/agent/account-changes', { ...agent, body: { approval_id } }),
        facts: { approval_id, reason: null, changed: false, seen: { name: 'City weather' } },
        says: ['The user approved: Change the item', '"City weather"', 'Nothing was changed'],
      }
    },
  },
  'change_impossible (archived)': {
    async provoke(shop) {
      const { call, ask } = shop
      const { agent, session, seller } = await business(shop)
      const item = await newItem(call, seller)
      const change = { kind: 'update_item', catalog_item_id: item.id, name: 'City rain' }
      const approval_id = await approvedChange(call, { agent, session }, change)
      await call('POST', `/v4/catalog/items/${item.id}/archive`, { token: seller.token })
      return {
        request: ask('POST', '/v4/agent/account-changes', { ...agent, body: { approval_id } }),
        facts: { approval_id, reason: 'item_archived', changed: false },
        says: [
          'The change itself was refused with `item_archived`',
          'Nothing was changed',
          '/docs/errors/item_archived',
        ],
        fix: 'none',
      }
    },
  },
  change_incomplete: {
    async provoke(shop) {
      const { call, ask, disk } = shop
      const { agent, session } = await business(shop)
      const change = { kind: 'create_item', ...WEATHER, external_endpoint: 'https://api.example.test/weather' }
      const approval_id = await approvedChange(call, { agent, session }, change)
      const { land } = disk.writes
      let count = 0
      disk.writes.land = (write) => (++count === 2 ? Promise.reject(new Error('the disk is full')) : land(write))
      return {
        request: ask('POST', '/v4/agent/account-changes', { ...agent, body: { approval_id } }),
        facts: { approval_id, made: { hostname: expect.any(String) } },
        says: ['The user approved', 'These parts were made: {"hostname":', 'The approval is used'],
        fix: 'none',
      }
    },
  },
  too_many_pending: {
    async provoke(shop) {
      const { call, ask, reader } = shop
      const session = await newSession(call, reader.email)
      await registerDevice(call, { token: reader.token })
      const body = { action: 'transfer', detail: { amount: 1 } }
      const callers = [{ session }, { token: reader.token }]
      for (let n = 0; n < 5; n++) await call('POST', '/v4/authentication-requests', { ...callers[n % 2], body })
      return {
        request: ask('POST', '/v4/authentication-requests', { session, body }),
        facts: { user: reader.id, pending: 5, most: 5, retry_after: 120 },
        says: [`5 authentication requests waited for`, reader.email, '120 seconds'],
      }
    },
  },
  'too_many_pending (approvals)': {
    async provoke(shop) {
      const { agent } = await requested(shop)
      const { call, ask, reader, item } = shop
      const body = { kind: 'purchase', catalog_item_id: item.id, ...ROME }
      for (let n = 1; n < 20; n++) await requestApproval(call, agent, { ...body, arguments: { city: `Rome ${n}` } })
      return {
        request: ask('POST', '/v4/agent/approvals', { ...agent, body: { ...body, arguments: { city: 'Oslo' } } }),
        facts: { user: reader.id, pending: 20, most: 20, oldest: expect.stringMatching(/^apr_/) },
        says: ['20 approvals of this app waited for', reader.email],
      }
    },
  },
  not_pending: {
    async provoke(shop) {
      const { approval_id } = await requested(shop, 'reject')
      const { ask, reader } = shop
      return {
        request: ask('POST', `/v4/approvals/${approval_id}/approve`, { token: reader.token }),
        facts: { approval_id, approval_status: 'rejected' },
        says: [`The approval ${approval_id} was rejected`, 'The app must ask again'],
      }
    },
  },
} satisfies Scenes
