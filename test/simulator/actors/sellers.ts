import { hold } from '../properties/broken.js'
import { Follower, WRITTEN } from '../properties/followers.js'
import type { Person, World } from '../world.js'
import type { Act } from './act.js'

/** Sellers look after their shops. */

/** A seller listens to webhooks, and changes their secret. */
const webhook: Act = {
  weight: 4,
  async run(world, draws) {
    const by = draws.pick(world.cast.sellers)
    const body = { url: `https://shop.example.test/hook/${draws.below(1000)}`, events: ['payment.*', 'purchase.*'] }
    const made = await world.call('POST', '/v4/webhooks', { by, asked: world.ask('a webhook'), body })
    if (made.status !== 201) return
    const { id, secret } = made.body
    hold(typeof secret === 'string', 'A new webhook shows its secret once', made.body)
    world.records.keepSecret(secret, by.name, 'the secret of a webhook')
    const path = `/v4/webhooks/${id}`
    const shown = await world.call('GET', path, { by })
    hold(!shown.text.includes(secret), 'A secret is shown once', shown.body)
    const stranger = draws.pick(world.cast.sellers.filter((each) => each !== by))
    const peeked = await world.call('GET', path, { by: stranger })
    hold(peeked.status !== 200, 'Nobody reads the webhook of another', peeked.body)
    await world.call('POST', `${path}/test`, { by, body: {} })
    if (draws.oneIn(2)) await world.timeline.wait(60_000)
    const listed = await world.call('GET', `${path}/deliveries?limit=3`, { by })
    const delivery = listed.body?.deliveries?.[0]?.id
    if (delivery !== undefined) await world.call('POST', `${path}/deliveries/${delivery}/redeliver`, { by, body: {} })
    if (draws.oneIn(3)) await world.call('POST', `${path}/rotate`, { by, body: {} })
    if (draws.oneIn(3)) await world.call('DELETE', path, { by })
  },
}

/** Someone reads their events in order, each once. Then they write some, while they follow. */
const events: Act = {
  weight: 4,
  async run(world, draws) {
    const by = draws.pick([...world.cast.readers, ...world.cast.sellers])
    const { status, body } = await world.call('GET', '/v4/events?limit=50', { by })
    if (status !== 200) return
    const ids = body.events.map(({ id }: { id: number }) => id)
    hold(new Set(ids).size === ids.length, 'An event is listed once', ids)
    const earlier = world.records.seenEvents.get(by.name)
    const newest = ids[0] ?? 0
    if (earlier && ids.length < 50) {
      const missed = ids.filter((id: number) => id < earlier.newest && !earlier.ids.has(id))
      hold(missed.length === 0, 'No event appears behind one that was read', { missed, newest: earlier.newest })
    }
    world.records.seenEvents.set(by.name, { newest, ids: new Set([...(earlier?.ids ?? []), ...ids]) })
    await Promise.all([follow(world, by, newest), ...[1, 2, 3, 4].map(() => write(world, by))])
  },
}

/** Follows from an event on, and connects again when the connection breaks, perhaps at a different process. */
async function follow(world: World, by: Person, newest: number): Promise<void> {
  const follower = new Follower(by, newest)
  world.records.followers.push(follower)
  const end = world.timeline.now() + 3000
  for (let left = 3000; left > 0; left = end - world.timeline.now()) {
    await world.follow(by, follower, left)
    await world.timeline.wait(300)
  }
}

async function write(world: World, by: Person): Promise<void> {
  const asked = world.ask(`${by.name} writes an event`)
  await world.call('POST', '/v4/events', { by, asked, body: { type: WRITTEN, data: { key: asked.key } } })
}

/** A seller pays for a plan by card, every month. */
const plan: Act = {
  weight: 2,
  async run(world, draws) {
    const by = draws.pick(world.cast.sellers)
    const body = { plan: 'growth', payment_method_id: 'pm_card_visa' }
    await world.call('PUT', '/v4/billing/plan', { by, asked: world.ask(`${by.name} takes a plan`), body })
    await world.timeline.wait(32 * 86_400_000)
    const { body: listed } = await world.call('GET', '/v4/billing/invoices?limit=2', { by })
    const id = listed?.invoices?.[0]?.id
    if (id === undefined) return
    for (const form of ['', '.pdf', '.html']) await world.call('GET', `/v4/billing/invoices/${id}${form}`, { by })
  },
}

/** A seller offers to pay, and a reader is paid once. */
const payback: Act = {
  weight: 3,
  async run(world, draws) {
    const at = draws.below(world.cast.sellers.length)
    const seller = world.cast.sellers[at]
    if (!seller) return
    const offer = { descriptor: 'NEWS.CONSENT', dq: world.cast.dq, cost: 0.1, twin_id: seller.twinId, payback: true }
    const asked = world.ask(`${seller.name} offers to pay`)
    const made = await world.call('POST', '/v4/commodity', { by: seller, asked, body: offer })
    if (made.status !== 201) return
    await world.call('GET', `/v4/payback/embed/${made.body.hash}`)
    const reader = draws.pick(world.cast.readers)
    const take = async () => {
      const key = world.ask(`${reader.name} is paid`)
      const body = { consent: ['You may write to me.'], origin: 'https://shop.example.test' }
      const told = await world.call('POST', `/v4/payback/${made.body.hash}`, { by: reader, asked: key, body })
      if (told.status === 202) world.records.use(`payback ${made.body.hash} to ${reader.name}`, key.key)
    }
    await Promise.all([take(), take()])
    await world.call('PUT', `/v4/commodity/${made.body.hash}/payback`, { by: seller, body: { enabled: false } })
  },
}

/** A card is charged for nothing, and the seller settles what the processor does not refund. */
const refunds: Act = {
  weight: 4,
  async run(world, draws) {
    const outcome = draws.pick(['returned', 'again'])
    // Its endpoint fails, so the card of a guest is charged for nothing.
    const item = draws.pick(world.cast.items.filter(({ id }) => id % 2 === 0))
    const link = { catalog_item_id: item.id, arguments: { city: 'Oslo' } }
    const made = await world.call('POST', '/v4/checkout', { by: item.seller, asked: world.ask('a link'), body: link })
    const { body: guest } = await world.call('GET', '/v4/session')
    if (made.status === 201 && guest?.session_id) {
      const path = `/v4/checkout/${made.body.token}/complete`
      const [session, asked] = [guest.session_id, world.ask('a card for nothing')]
      await world.call('POST', path, { session, asked, body: { payment_method_id: 'pm_card_visa' } })
      // The charge is refunded when the link expires.
      await world.timeline.wait(25 * 3_600_000)
      await world.timeline.wait(60_000)
    }
    for (const by of world.cast.sellers) {
      const { body } = await world.call('GET', '/v4/checkout/refunds?limit=3', { by })
      const id = body?.refunds?.[0]?.id
      if (id === undefined) continue
      const asked = world.ask(`${by.name} settles refund ${id}`)
      await world.call('POST', `/v4/checkout/refunds/${id}/settle`, { by, asked, body: { outcome } })
    }
  },
}

export const sellerActs = { webhook, events, plan, payback, refunds }
