import { afterEach, describe, expect, it } from 'vitest'
import { systemAlarm } from '../../src/base/ports.js'
import { problemCodes, problemStatus } from '../../src/base/problem.js'
import { type Cards, createService, type Service } from '../../src/index.js'
import { testProcessor } from '../../src/money/cards/test-values.js'
import { type Answer, type Call, caller } from '../support/api.js'
import { addItem, newCart } from '../support/scenes/carts.js'
import { newItem } from '../support/scenes/catalog.js'
import { asClient, authorization, newAgent, newApp, newConfidentialApp } from '../support/scenes/oidc.js'
import { answerOf } from '../support/scenes/requests.js'
import { ask, mailedLink, poll } from '../support/scenes/second-factor.js'
import { askCode, mailedCode, newGuest, verify, wrongCode } from '../support/scenes/sign-in.js'
import { send } from '../support/scenes/transfers.js'
import { basic, newPayer, newSeller, newSession, type Payer, tokenFor } from '../support/scenes/world.js'

/** A limit that was reached while the clock was ahead does not stop anybody once the clock is right. */

/** Longer than every limit, and shorter than an app without users stays. */
const FAR = 20 * 86_400_000
const NOW = Date.UTC(2031, 0, 1)
const EMAIL = 'ada@example.test'

const open: Service[] = []
afterEach(async () => {
  for (const service of open.splice(0)) await service.close()
})

interface World {
  readonly call: Call
  readonly service: Service
  readonly processor: { isSilent: boolean }
  /** A caller with a token of the present. */
  readonly payer: () => Promise<{ token: string; hostname: string }>
  readonly seller: () => Promise<{ token: string; clientId: string }>
}

/** A processor that can keep silent about what it is asked to charge. */
function newProcessor() {
  const processor = { isSilent: false }
  const known = testProcessor({ alarm: systemAlarm })
  const charge: Cards['charge'] = (order) => (processor.isSilent ? new Promise<never>(() => {}) : known.charge(order))
  return { processor, cards: { ...known, charge } }
}

async function newWorld() {
  const { processor, cards } = newProcessor()
  const service = createService({
    ...{ sandbox: true, cards, log: { error: () => {} } },
    ...{ limits: { newPerDay: 30, cardMs: 5 }, upstream: { fetch: async () => new Response('The story.') } },
  })
  open.push(service)
  const call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  await service.sandbox.setClock({ mode: 'manual' })
  const set = (time: number) => service.sandbox.setClock({ set: time })
  await set(NOW)
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { email: EMAIL, balance: 1000 })
  const fresh = async <T extends Pick<Payer, 'clientId' | 'clientSecret'>>(
    owner: T,
  ): Promise<T & { token: string }> => ({
    ...owner,
    token: await tokenFor(call, owner.clientId, owner.clientSecret),
  })
  const world: World = { call, service, processor, payer: () => fresh(payer), seller: () => fresh(seller) }
  return { world, set }
}

interface Limited {
  readonly code: string
  /** By how much the clock is ahead, in milliseconds. */
  readonly ahead?: number
  /** Prepares what is limited, at the right time, and returns one try of it. */
  try(world: World): Promise<(count: number) => Promise<Answer>>
}

const limits: Record<string, Limited> = {
  'sign-in codes of an address': {
    code: 'too_many_codes',
    try:
      async ({ call }) =>
      async () =>
        askCode(call, await newGuest(call), 'guest@example.test'),
  },
  'wrong codes of an address in a day': {
    code: 'too_many_tries',
    try:
      async ({ call }) =>
      async () => {
        const guest = await newGuest(call)
        const asked = await askCode(call, guest, 'guest@example.test')
        if (asked.status !== 202) return asked
        const wrong = wrongCode(await mailedCode(call, 'guest@example.test'))
        for (let tries = 0; tries < 4; tries++) await verify(call, guest, 'guest@example.test', wrong)
        return verify(call, guest, 'guest@example.test', wrong)
      },
  },
  'wrong codes for one code': {
    code: 'too_many_tries',
    async try({ call }) {
      let guest: string | undefined
      return async (count) => {
        if (count === 0) {
          guest = await newGuest(call)
          await askCode(call, guest, 'guest@example.test')
        }
        return verify(call, guest ?? '', 'guest@example.test', wrongCode(await mailedCode(call, 'guest@example.test')))
      }
    },
  },
  'invitations to an address': {
    code: 'too_many_mails',
    try:
      async ({ call, payer }) =>
      async () =>
        send(call, await payer(), { address: 'guest@example.test', amount: 1 }),
  },
  'requests that one asker makes of a user': {
    code: 'too_many_mails',
    try:
      async ({ call, payer }) =>
      async () => {
        const caller = await payer()
        const asked = await ask(call, caller)
        if (asked.status < 300) await rejectPending(call)
        return asked
      },
  },
  'requests that wait for a user': {
    code: 'too_many_pending',
    async try({ call, payer }) {
      const session = await newSession(call, EMAIL)
      let sessions = [session]
      return async (count) => {
        if (count === 0) sessions = [await newSession(call, EMAIL)]
        return ask(call, count % 2 === 0 ? await payer() : { session: sessions[0] as string })
      }
    },
  },
  'approvals that wait for a user': {
    code: 'too_many_pending',
    async try({ call, seller }) {
      const { token } = await seller()
      const sold = { price: 1, descriptor: 'STORY', service_method: 'GET', service_schema: { type: 'object' } }
      const body = { name: 'A story', description: '', external_endpoint: 'http://127.0.0.1:9/', ...sold }
      const item = (await call('POST', '/v4/catalog/items', { token, body })).body
      const app = await newApp(call)
      let agent = ''
      return async (count) => {
        if (count === 0) agent = (await newAgent(call, { app, email: EMAIL })).accessToken
        const change = { kind: 'purchase', catalog_item_id: item.id, arguments: {}, price: item.price, dq: item.dq }
        return call('POST', '/v4/agent/approvals', { token: agent, body: change })
      }
    },
  },
  'declined cards of a payer': {
    code: 'too_many_declines',
    try:
      async ({ call, payer }) =>
      async () =>
        topUp(call, { ...(await payer()), method: 'pm_card_expired' }),
  },
  'wrong secrets of an account': {
    code: 'too_many_failures',
    try:
      async ({ call, seller }) =>
      async () => {
        const { clientId } = await seller()
        return call('POST', '/v4/account/oauth/token', { headers: basic(clientId, 'wrong') })
      },
  },
  'wrong secrets of an app': {
    code: 'too_many_failures',
    async try({ call }) {
      const app = await newConfidentialApp(call)
      const form = { grant_type: 'refresh_token', refresh_token: 'x' }
      return () => call('POST', '/v4/oidc/token', { headers: basic(app.id, 'wrong'), form })
    },
  },
  'documents of apps on a host': {
    code: 'too_many_fetches',
    async try({ call }) {
      let name = 0
      return () => call('GET', authorization({ id: `https://localhost:1/${name++}` }))
    },
  },
  'new things of an owner in a day': {
    code: 'too_many_new',
    try:
      async ({ call, payer }) =>
      async () =>
        call('POST', '/v4/events', { ...(await payer()), body: { type: 'client.note', data: {} } }),
  },
  'free calls of a host': {
    code: 'too_many_calls',
    async try({ call, payer, seller }) {
      const item = await newItem(call, await seller(), { price: 0 })
      return async () => {
        const { token } = await payer()
        const id = await newCart(call, { token })
        await addItem(call, { token }, id, { catalog_item_id: item.id, arguments: { city: 'Rome' }, quantity: 99 })
        return call('POST', `/v4/carts/${id}/pay`, { token })
      }
    },
  },
  'charges without an outcome, once the processor tells it': {
    code: 'too_many_charges',
    async try({ call, payer, service, processor }) {
      return async (count) => {
        processor.isSilent = count > 0
        if (count === 0) await service.sandbox.advance('1h')
        return topUp(call, { ...(await payer()), method: 'pm_card_visa' })
      }
    },
  },
  'streams of an owner, once they are closed': {
    code: 'too_many_streams',
    async try({ payer, service }) {
      const opened: (ReadableStream | null)[] = []
      return async (count) => {
        if (count === 0) await Promise.all(opened.splice(0).map((stream) => stream?.cancel()))
        const { token } = await payer()
        const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
        const response = await service.fetch(new Request(`${service.baseUrl}/v4/events`, { headers }))
        if (response.status !== 200) return answerOf(response, await response.text())
        opened.push(response.body)
        return answerOf(response, '')
      }
    },
  },
  'polls of a request': {
    code: 'slow_down',
    ahead: 30_000,
    async try({ call, payer }) {
      const { token } = await payer()
      const { id } = (await ask(call, { token })).body
      return () => poll(call, { token }, id)
    },
  },
}

interface TopUp {
  readonly token: string
  readonly hostname: string
  readonly method: string
}

const topUp = (call: Call, { token, hostname, method }: TopUp): Promise<Answer> =>
  call('POST', `/v4/twin/${hostname}/topup`, { token, body: { amount: 1, payment_method_id: method } })

const rejectPending = async (call: Call): Promise<void> => {
  const { path, token } = await mailedLink(call, EMAIL)
  await call('POST', path, { form: { token, answer: 'reject' } })
}

describe('a limit that was reached while the clock was ahead', () => {
  it.each(Object.entries(limits))('stops nobody afterwards: %s', async (_, { code, ahead = FAR, ...limited }) => {
    const { world, set } = await newWorld()
    const attempt = await limited.try(world)
    await set(NOW + ahead)
    const codes: (string | undefined)[] = []
    for (let count = 0; count < 60 && codes.at(-1) !== code; count++) codes.push((await attempt(count)).body?.code)
    expect(codes.at(-1)).toBe(code)
    await set(NOW)
    const later = await attempt(0)
    expect([later.status === 429, later.body?.code === code], later.text).toEqual([false, false])
  })

  it('is one of this table, whatever answers 429', () => {
    const limited = problemCodes.filter((code) => problemStatus(code) === 429)
    expect([...new Set(Object.values(limits).map(({ code }) => code))].sort()).toEqual([...limited].sort())
  })
})

describe('wrong secrets', () => {
  it.each([
    ['an account', '/v4/account/oauth/token'],
    ['a user', '/v4/user/oauth/token'],
  ])('from strangers never stop %s whose secret is right', async (_, path) => {
    const { world } = await newWorld()
    const { call } = world
    const seller = await newSeller(call)
    const { clientId, clientSecret } = path.includes('user') ? await newPayer(call, seller) : seller
    const statuses: number[] = []
    for (let n = 0; n < 22; n++) {
      statuses.push((await call('POST', path, { headers: basic(clientId, `wrong ${n}`) })).status)
      expect((await call('POST', path, { headers: basic(clientId, clientSecret) })).status).toBe(200)
    }
    expect(statuses).toEqual([...Array<number>(20).fill(401), 429, 429])
  })

  it('from strangers never stop an app whose secret is right, at any endpoint', async () => {
    const { world } = await newWorld()
    const { call } = world
    const app = await newConfidentialApp(call)
    const statuses: number[] = []
    for (const endpoint of ['token', 'token/introspection', 'token/revocation'] as const)
      for (let n = 0; n < 8; n++) {
        const form = { grant_type: 'refresh_token', refresh_token: 'x', token: 'x' }
        statuses.push((await asClient(call, { ...app, secret: `wrong ${n}` }, endpoint, form)).status)
        const right = await asClient(call, app, endpoint, form)
        expect(right.body?.error ?? 'none').not.toBe('invalid_client')
      }
    expect(statuses).toEqual([...Array<number>(20).fill(401), ...Array<number>(4).fill(429)])
  })

  it('that are refused write nothing', async () => {
    const { world } = await newWorld()
    const { call } = world
    const { clientId } = await newSeller(call)
    const wrong = () => call('POST', '/v4/account/oauth/token', { headers: basic(clientId, 'wrong') })
    for (let n = 0; n < 20; n++) await wrong()
    const { headers } = await wrong()
    const { storage } = (await call('GET', `/_sandbox/requests/${headers.get('x-request-id')}`)).body
    expect(storage.writes).toBe(0)
  })
})
