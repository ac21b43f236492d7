import fc from 'fast-check'
import { expect } from 'vitest'
import { type Authority, DAY, HOUR, type Invitation, type Model, type Who } from './model.js'
import { COST, HASH, SHOP, STRANGERS, USERS, type World } from './world.js'

/** Steps of the service's users, each taken on the model and on the service, after which both must hold the same. */

type Step = fc.AsyncCommand<Model, World>

/** What a step needs to be one; what it does, and is called. */
interface Told<A> {
  readonly name: string
  readonly args: A
  can?(model: Model): boolean
  take(model: Model, world: World): Promise<void>
}

const step = <A>({ name, args, can = () => true, take }: Told<A>): Step => ({
  check: (model) => can(model as Model),
  async run(model, world) {
    await take(model, world)
    await compare(model, world)
  },
  toString: () => `${name} ${JSON.stringify(args)}`,
})

async function compare(model: Model, world: World): Promise<void> {
  const audit = await world.service.sandbox.ledger()
  expect(audit.broken).toBeNull()
  const balances = await world.balances()
  for (const [who, amount] of model.balances) {
    const hostname = world.hostnames.get(who) ?? ''
    const shown = balances.get(hostname) ?? { amount: 0, held: 0 }
    expect({ who, ...shown }).toEqual({ who, amount, held: model.held.get(who) ?? 0 })
    expect(model.spendable(who)).toBeGreaterThanOrEqual(0)
  }
  expect(audit.digital_quantities[0]?.issued).toBe(model.issued / 1000)
}

/** Expects success, or the refusal that the model foresees. */
function expectAnswer(answer: { status: number; body: any }, refused: string | undefined, status: number): void {
  expect({ status: answer.status, code: answer.body?.code }).toEqual(
    refused === undefined ? { status, code: undefined } : { status: statuses[refused], code: refused },
  )
}

const statuses: Record<string, number> = {
  insufficient_funds: 402,
  same_twin: 422,
  delegate_refused: 403,
  transfer_settled: 409,
  transfer_expired: 410,
  card_declined: 402,
  processor_failed: 502,
}

const units = (amount: number): number => amount / 1000

const fund = (who: Who, amount: number) =>
  step({
    name: 'fund',
    args: { who, amount },
    can: (model) => model.knows(who),
    async take(model, { service, hostnames }) {
      await service.sandbox.fund({ hostname: hostnames.get(who) ?? '', amount: units(amount) })
      model.issue(who, amount)
    },
  })

const pay = (who: Who) =>
  step({
    name: 'pay',
    args: { who },
    can: (model) => model.knows(who),
    async take(model, world) {
      const answer = await world.ask('POST', `/v4/payment/${HASH}`, { by: who })
      expectAnswer(answer, model.move(who, SHOP, COST), 202)
      if (answer.status !== 202) return
      const { nonce, timestamp } = answer.body
      const validate = () => world.ask('POST', `/v4/payment/${HASH}/validate`, { by: SHOP, body: { nonce, timestamp } })
      expect([(await validate()).status, (await validate()).status]).toEqual([200, 400])
    },
  })

const paywall = (who: Who, amount: number, service: string) =>
  step({
    name: 'paywall',
    args: { who, amount, service },
    can: (model) => model.knows(who),
    async take(model, world) {
      const body = {
        amount: units(amount),
        destination: 'shop.test',
        serviceUrl: `https://api.example.test/${service}`,
      }
      const answer = await world.ask('POST', '/v4/paywall', { by: who, body })
      if (model.spendable(who) < amount) return expectAnswer(answer, 'insufficient_funds', 200)
      expect(answer.status).toBe(service === 'down' ? 502 : Number(service))
      if (answer.status < 500) model.move(who, SHOP, amount)
    },
  })

const transfer = (from: Who, to: Who, { amount, byEmail }: { amount: number; byEmail: boolean }) =>
  step({
    name: 'transfer',
    args: { from, to, amount, byEmail },
    can: (model) => model.knows(from) && (byEmail || model.knows(to)),
    async take(model, world) {
      const address = byEmail ? to : world.hostnames.get(to)
      const answer = await world.ask('POST', '/v4/transfer', { by: from, body: { address, amount: units(amount) } })
      // Someone whom an account has made is reached by their wallet; their email belongs to whoever proves it.
      const isDirect = byEmail ? model.proven.has(to) || from === to : model.knows(to)
      if (isDirect) return expectAnswer(answer, model.move(from, to, amount), 201)
      const refused = model.invite(from, to, amount)
      expectAnswer(answer, refused, 201)
      if (refused === undefined) world.invitations.push(answer.body.id)
    },
  })

const settled = ({ status }: Invitation): string | undefined =>
  status === 'invited' ? undefined : status === 'expired' ? 'transfer_expired' : 'transfer_settled'

const cancel = (pick: number) =>
  step({
    name: 'cancel',
    args: { pick },
    can: ({ invitations }) => invitations.length > 0,
    async take(model, world) {
      const n = pick % model.invitations.length
      const invitation = model.invitations[n] as Invitation
      const answer = await world.ask('POST', `/v4/transfers/${world.invitations[n]}/cancel`, { by: invitation.from })
      if (answer.status === 404) return expect(model.mayBeRemoved(invitation)).toBe(true)
      expectAnswer(answer, settled(invitation) && 'transfer_settled', 200)
      if (invitation.status === 'invited') model.settle(invitation, 'cancelled')
    },
  })

/** By someone of that email: it was delivered when they proved that, and is not there for those who have not. */
const claim = (pick: number) =>
  step({
    name: 'claim',
    args: { pick },
    can: ({ invitations }) => invitations.length > 0,
    async take(model, world) {
      const n = pick % model.invitations.length
      const invitation = model.invitations[n] as Invitation
      if (!model.knows(invitation.email)) return
      const answer = await world.ask('POST', `/v4/transfers/${world.invitations[n]}/claim`, { by: invitation.email })
      if (!model.proven.has(invitation.email)) return expect(answer.status).toBe(404)
      // What is over is shown to those alone who had a part in it.
      if (answer.status === 404) return expect(['cancelled', 'expired']).toContain(invitation.status)
      expectAnswer(answer, settled(invitation), 200)
      if (invitation.status === 'invited') model.settle(invitation, 'completed')
    },
  })

/** A stranger proves their email by a mailed code, and has all that waited for it. */
const signUp = (who: Who) =>
  step({
    name: 'sign up',
    args: { who },
    can: (model) => !model.proven.has(who),
    async take(model, world) {
      const { body: guest } = await world.ask('GET', '/v4/session')
      const headers = { 'x-session-id': guest.session_id }
      await world.ask('POST', '/v4/session/code', { headers, body: { email: who } })
      const signedIn = await world.ask('POST', '/v4/session/verify', { headers, body: { email: who, code: '123456' } })
      expect(signedIn.status).toBe(200)
      const own = { 'x-session-id': signedIn.body.session_id }
      if (!model.knows(who)) {
        await world.service.sandbox.phone(signedIn.body.user.id).answer('approve')
        const made = await world.ask('POST', '/v4/user/secrets', { headers: own })
        const { body } = await world.ask('GET', '/v4/twins', { headers: own })
        world.meet(who, made.body.secrets[0], body.twins[0].hostname)
      }
      const waiting = model.open(who)
      model.join(who)
      model.proven.add(who)
      for (const invitation of waiting) model.settle(invitation, 'completed')
    },
  })

const makeUser = (who: Who) =>
  step({
    name: 'make user',
    args: { who },
    can: (model) => !model.knows(who),
    async take(model, world) {
      const made = await world.ask('POST', '/v4/user', { by: SHOP, body: { email: who } })
      expect(made.status).toBe(201)
      const [client] = made.body.secrets
      model.join(who)
      world.meet(who, client, '')
      const { body } = await world.ask('GET', '/v4/twins', { by: who })
      world.meet(who, client, body.twins[0].hostname)
    },
  })

const topUp = (who: Who, amount: number, method: keyof typeof cards) =>
  step({
    name: 'top up',
    args: { who, amount, method },
    can: (model) => model.knows(who),
    async take(model, world) {
      const body = { amount: units(amount), payment_method_id: method }
      const answer = await world.ask('POST', `/v4/twin/${world.hostnames.get(who)}/topup`, { by: who, body })
      expectAnswer(answer, cards[method], 201)
      if (cards[method] === undefined) model.issue(who, amount)
    },
  })

const cards = {
  pm_card_visa: undefined,
  pm_card_mastercard: undefined,
  pm_card_chargeDeclined: 'card_declined',
  pm_card_expired: 'card_declined',
  pm_processor_down: 'processor_failed',
} as const

const delegate = (owner: Who, limit: number, more: { period?: 'day' | 'month'; hours?: number }) =>
  step({
    name: 'delegate',
    args: { owner, limit, ...more },
    can: (model) => model.knows(owner),
    async take(model, world) {
      const twin = await world.ask('GET', `/v4/twin/${world.hostnames.get(owner)}`, { by: owner })
      const body = { name: 'Reader', twin_id: twin.body.id }
      const { hash: persona } = (await world.ask('POST', '/v4/persona', { by: owner, body })).body
      const expiresAt = more.hours === undefined ? undefined : model.now + more.hours * HOUR
      const spend = {
        party: { public_secret: world.publicSecret },
        dq: world.dq,
        limit: units(limit),
        ...(more.period && { period: more.period }),
        ...(expiresAt !== undefined && { expires_at: expiresAt / 1000 }),
      }
      const given = await world.ask('POST', `/v4/persona/${persona}/delegate`, {
        by: owner,
        body: { hostname: 'shop.test', spend },
      })
      expect([given.status, given.body.issue]).toEqual([201, 1])
      world.delegates.push({ persona, hash: given.body.hash })
      model.authorities.push({ owner, limit, period: more.period, expiresAt, revoked: false, spent: new Map() })
    },
  })

const withAuthority = <A extends object>(
  name: string,
  args: A & { pick: number },
  take: (model: Model, world: World, authority: Authority, n: number) => Promise<void>,
) =>
  step({
    name,
    args,
    can: ({ authorities }) => authorities.length > 0,
    async take(model, world) {
      const n = args.pick % model.authorities.length
      await take(model, world, model.authorities[n] as Authority, n)
    },
  })

const spend = (pick: number, amount: number, service?: string) =>
  withAuthority('spend', { pick, amount, service }, async (model, world, authority, n) => {
    const body = {
      amount: units(amount),
      persona_delegate: world.delegates[n]?.hash,
      public_secret: world.publicSecret,
      destination: 'shop.test',
      ...(service !== undefined && { serviceUrl: `https://api.example.test/${service}` }),
    }
    const answer = await world.ask('POST', '/v4/paywall', { body })
    const short = model.spendable(authority.owner) < amount ? 'insufficient_funds' : undefined
    const refused = model.refusal(authority, amount) ?? short
    if (refused !== undefined) return expectAnswer(answer, refused, 200)
    expect(answer.status).toBe(service === undefined ? 200 : service === 'down' ? 502 : Number(service))
    if (answer.status >= 500) return
    model.move(authority.owner, SHOP, amount)
    model.count(authority, amount)
  })

const revoke = (pick: number) =>
  withAuthority('revoke', { pick }, async (_model, world, authority, n) => {
    const { persona, hash } = world.delegates[n] as World['delegates'][0]
    const answer = await world.ask('DELETE', `/v4/persona/${persona}/delegates/${hash}`, { by: authority.owner })
    expect(answer.status).toBe(authority.revoked ? 404 : 204)
    authority.revoked = true
  })

const moveClock = (ms: number) =>
  step({
    name: 'move the clock',
    args: { ms },
    async take(model, { service }) {
      model.moveClock(ms)
      await service.sandbox.setClock({ set: model.now })
    },
  })

const people = fc.constantFrom(...USERS, ...STRANGERS)
const strangers = fc.constantFrom(...STRANGERS)
const known = fc.constantFrom(...USERS, ...STRANGERS, SHOP)
const amounts = fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.constantFrom(1, COST, 5000))
const services = fc.constantFrom('200', '404', '500', '503', 'down')
/** Few, so that limits are met exactly and passed by little. */
const sums = fc.constantFrom(100, COST, 500, 1000)
const picks = fc.nat(30)
const jumps = fc.oneof(fc.integer({ min: -24, max: 24 }), fc.constantFrom(24, -24, 1)).map((hours) => hours * HOUR)

export const steps: fc.Arbitrary<Step>[] = [
  fc.tuple(known, amounts).map(([who, amount]) => fund(who, amount)),
  people.map(pay),
  fc.tuple(people, amounts, services).map(([who, amount, service]) => paywall(who, amount, service)),
  fc.tuple(known, known, amounts).map(([from, to, amount]) => transfer(from, to, { amount, byEmail: false })),
  fc.tuple(known, people, amounts).map(([from, to, amount]) => transfer(from, to, { amount, byEmail: true })),
  ...Array.from({ length: 3 }, () =>
    fc.tuple(known, strangers, amounts).map(([from, to, amount]) => transfer(from, to, { amount, byEmail: true })),
  ),
  picks.map(cancel),
  picks.map(cancel),
  picks.map(claim),
  picks.map(claim),
  strangers.map(signUp),
  strangers.map(makeUser),
  fc
    .tuple(people, fc.integer({ min: 1, max: 300 }), fc.constantFrom(...(Object.keys(cards) as (keyof typeof cards)[])))
    .map(([who, cents, method]) => topUp(who, cents * 10, method)),
  fc
    .tuple(
      people,
      amounts,
      fc.constantFrom('day' as const, 'month' as const, undefined),
      fc.constantFrom(1, 24, undefined),
    )
    .map(([owner, limit, period, hours]) =>
      delegate(owner, limit, { ...(period && { period }), ...(hours && { hours }) }),
    ),
  ...Array.from({ length: 3 }, () => fc.tuple(picks, sums).map(([pick, amount]) => spend(pick, amount))),
  ...Array.from({ length: 3 }, () =>
    fc.tuple(picks, sums, services).map(([pick, amount, service]) => spend(pick, amount, service)),
  ),
  picks.map(revoke),
  jumps.map(moveClock),
  // As far as invitations wait.
  fc.constantFrom(29 * DAY, 30 * DAY, 31 * DAY).map(moveClock),
]
