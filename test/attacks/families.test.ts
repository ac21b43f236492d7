import { afterEach, describe, expect, it, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { Mail } from '../../src/base/ports.js'
import { type ApprovalRow, approvals } from '../../src/consent/approvals/approval.js'
import { oidcCodes } from '../../src/consent/oidc/code.js'
import { oidcConnections } from '../../src/consent/oidc/connection.js'
import { type OidcTokenRow, oidcTokens } from '../../src/consent/oidc/token.js'
import { type SessionRow, sessions } from '../../src/identity/sessions/session.js'
import { tokens } from '../../src/identity/tokens/token.js'
import { createService, type Service } from '../../src/index.js'
import type { Reader, Storage, Writer } from '../../src/storage/storage.js'
import { type Call, caller } from '../support/api.js'
import { expectProblem } from '../support/scenes/market.js'
import { type App, authorizeApp, exchangeCode, newAgent, newApp, refreshWith } from '../support/scenes/oidc.js'
import { newGuest } from '../support/scenes/sign-in.js'
import { newCommodity, newPayer, newSeller } from '../support/scenes/world.js'

/** A storage that counts the rows that are read and written. */
function countingRows() {
  const inner = memoryStorage()
  const counted = { read: 0, written: 0 }
  const seen = async <T>(asked: Promise<T>): Promise<T> => {
    const answer = await asked
    counted.read += Array.isArray(answer) ? answer.length : 1
    return answer
  }
  const reader = (tx: Reader): Reader => ({
    get: (from, id) => seen(tx.get(from, id)),
    getMany: (from, ids) => seen(tx.getMany(from, ids)),
    find: (from, query) => seen(tx.find(from, query)),
  })
  const writer = (tx: Writer): Writer => ({
    ...reader(tx),
    nextId: (of) => tx.nextId(of),
    nextIds: (of) => tx.nextIds(of),
    put(into, row) {
      counted.written++
      tx.put(into, row)
    },
    remove(from, id) {
      counted.written++
      tx.remove(from, id)
    },
  })
  const storage: Storage = {
    ...inner,
    read: (body) => inner.read((tx) => body(reader(tx))),
    write: (body) => inner.write((tx) => body(writer(tx))),
  }
  return { storage, inner, counted }
}

const open: Service[] = []

afterEach(async () => {
  for (const service of open.splice(0)) await service.close()
})

const VICTIM = 'victim@example.test'

/** A service that is no sandbox, in which an account made a user, who has an app. */
async function started() {
  const counting = countingRows()
  const mails: Mail[] = []
  const service = createService({
    storage: counting.storage,
    mailer: { send: async (mail) => void mails.push(mail) },
    encryptionKey: '0f'.repeat(32),
    log: { error: () => {} },
  })
  open.push(service)
  const call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  const user = await newPayer(call, await newSeller(call), { email: VICTIM })
  const session: string = (await call('POST', '/v4/session', { token: user.token })).body.session_id
  return { ...counting, call, service, mails, user, session }
}

type Started = Awaited<ReturnType<typeof started>>

async function rowsOf<R>({ inner }: Pick<Started, 'inner'>, { name }: { readonly name: string }): Promise<R[]> {
  return ((await inner.export()).rows[name] ?? []) as unknown as R[]
}

/** Stores copies of the last session: what a flood, or a state of an older release, has. */
async function flood(run: Started, count: number, change: (row: SessionRow) => Partial<SessionRow> = () => ({})) {
  const last = (await rowsOf<SessionRow>(run, sessions)).at(-1)
  if (!last) throw new Error('there is no session')
  await run.inner.write(async (tx) => {
    for (let n = 0; n < count; n++) {
      const id = await tx.nextId('sessions')
      tx.put(sessions, { ...last, ...change(last), id, digest: `copy ${n}` })
    }
  })
}

async function floodTokens(run: Started, count: number) {
  const last = (await rowsOf<OidcTokenRow>(run, oidcTokens)).at(-1)
  if (!last) throw new Error('there is no token')
  await run.inner.write(async (tx) => {
    for (let n = 0; n < count; n++)
      tx.put(oidcTokens, { ...last, id: `t${n}`, access_digest: `a${n}`, refresh_digest: `r${n}`, refresh_used: true })
  })
}

async function signIn({ call, mails }: Started) {
  const session = await newGuest(call)
  await call('POST', '/v4/session/code', { session, body: { email: VICTIM } })
  await expect.poll(() => mails.some(({ subject }) => subject.includes('sign-in code'))).toBe(true)
  const code = mails.map(({ subject }) => /^\d{6}/.exec(subject)?.[0]).findLast((found) => found !== undefined)
  return { session, body: { email: VICTIM, code } }
}

/** Ends a family of this many, and checks that it has ended. Returns what is counted. */
type Way = (run: Started, count: number) => Promise<{ read: number; written: number }>

async function measured({ counted }: Started, act: () => Promise<unknown>) {
  const before = { ...counted }
  await act()
  return { read: counted.read - before.read, written: counted.written - before.written }
}

const connected = async (run: Started): Promise<{ app: App; agent: Awaited<ReturnType<typeof newAgent>> }> => {
  const app = await newApp(run.call)
  return { app, agent: await newAgent(run.call, { app, session: run.session }) }
}

const isDead = async (call: Call, token: string) =>
  expect((await call('GET', '/v4/agent/account', { token })).status).toBe(401)

const ways: Record<string, Way> = {
  async 'the first sign-in at an address, by the sessions that others started'(run, count) {
    await flood(run, count)
    const sent = await signIn(run)
    const work = await measured(run, async () => {
      expect((await run.call('POST', '/v4/session/verify', sent)).status).toBe(200)
    })
    const { session } = run
    expectProblem(await run.call('GET', '/v4/twins', { session }), 401, 'sign_in_required')
    return work
  },

  async 'signing out, by the page sessions that came from the session'(run, count) {
    const { hash } = await newCommodity(run.call, await newSeller(run.call))
    const body = { hash, origin: 'https://shop.example.test' }
    const page = (await run.call('POST', '/v4/session/page', { session: run.session, body })).body.session_id
    await flood(run, count)
    const work = await measured(run, async () => {
      expect((await run.call('DELETE', '/v4/session', { session: run.session })).status).toBe(204)
    })
    expect((await run.call('GET', '/v4/session', { session: page })).body.user).toBeNull()
    return work
  },

  async 'the reuse of a refresh token, by the tokens of its family'(run, count) {
    const { app, agent } = await connected(run)
    const next = await refreshWith(run.call, app, agent.refreshToken)
    await floodTokens(run, count)
    const work = await measured(run, async () => {
      expect((await refreshWith(run.call, app, agent.refreshToken)).body.error).toBe('invalid_grant')
    })
    await isDead(run.call, next.body.access_token)
    expect((await refreshWith(run.call, app, next.body.refresh_token)).body.error).toBe('invalid_grant')
    return work
  },

  async 'the reuse of a code, by the tokens of its family'(run, count) {
    const { app, agent } = await connected(run)
    await floodTokens(run, count)
    const work = await measured(run, async () => {
      expect((await exchangeCode(run.call, app, agent.code)).body.error).toBe('invalid_grant')
    })
    await isDead(run.call, agent.accessToken)
    return work
  },

  async 'disconnecting an app, by its tokens, its codes and the approvals of its requests'(run, count) {
    const { app, agent } = await connected(run)
    const unused = await authorizeApp(run.call, app, { session: run.session })
    await floodTokens(run, count)
    const [code] = await rowsOf<any>(run, oidcCodes)
    await run.inner.write(async (tx) => {
      for (let n = 0; n < count; n++) tx.put(oidcCodes, { ...code, id: `c${n}` })
      for (let n = 0; n < count + 100; n++) tx.put(approvals, approvalOf(code.connection_id, n))
    })
    const { connections } = (await run.call('GET', '/v4/connections', { session: run.session })).body
    const path = `/v4/connections/${connections[0].id}`
    const work = await measured(run, async () => {
      expect((await run.call('DELETE', path, { session: run.session })).status).toBe(204)
    })
    await isDead(run.call, agent.accessToken)
    expect((await exchangeCode(run.call, app, unused.code)).body.error).toBe('invalid_grant')
    expect((await refreshWith(run.call, app, agent.refreshToken)).body.error).toBe('invalid_grant')
    return work
  },
}

/** An approved request that nobody has spent. */
const approvalOf = (connection_id: number, n: number) =>
  ({
    ...{
      id: `approval ${String(n).padStart(6, '0')}`,
      connection_id,
      user_id: 1,
      client_id: 'app',
      status: 'approved',
    },
    ...{ kind: 'purchase', detail: {}, summary: '', created_at: 0, expires_at: 8e12, spent_at: null, binding: '' },
  }) as unknown as ApprovalRow

describe.each(Object.entries(ways))('%s', (_, way) => {
  it('reads and writes as many rows with 1,000 as with 10', async () => {
    const few = await way(await started(), 10)
    const many = await way(await started(), 1000)
    // Deliveries in the background read and write a few rows at the same time.
    expect(many.read).toBeLessThan(few.read + 20)
    expect(many.written).toBeLessThan(few.written + 20)
  })
})

test('a user has at most 100 sessions of one kind, and those of programs end none that a code started', async () => {
  const run = await started()
  await flood(run, 1, () => ({ by: 'code' }))
  let last = ''
  for (let n = 0; n < 104; n++)
    last = (await run.call('POST', '/v4/session', { token: run.user.token })).body.session_id
  const found = await rowsOf<SessionRow>(run, sessions)
  expect(found.filter(({ by }) => by === 'token')).toHaveLength(100)
  expect(found.filter(({ by }) => by === 'code')).toHaveLength(1)
  expect((await run.call('GET', '/v4/session', { session: run.session })).body.user).toBeNull()
  expect((await run.call('GET', '/v4/session', { session: last })).body.user.email).toBe(VICTIM)
})

test('a client has at most 50 pairs of tokens, however often it refreshes', async () => {
  const run = await started()
  let pair = (await run.call('POST', '/v4/user/oauth/token', basicOf(run.user))).body
  for (let n = 0; n < 60; n++) {
    const headers = { authorization: `Bearer ${pair.refresh_token}` }
    pair = (await run.call('POST', '/v4/user/oauth/token', { headers })).body
  }
  expect((await rowsOf<any>(run, tokens)).filter(({ owner_kind }) => owner_kind === 'user')).toHaveLength(50)
  expect((await run.call('GET', '/v4/twins', { token: pair.access_token })).status).toBe(200)
})

const basicOf = ({ clientId, clientSecret }: { clientId: string; clientSecret: string }) => ({
  headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
})

test('many stolen families of one connection end all its tokens, and its row stays small', async () => {
  const run = await started()
  const { app } = await connected(run)
  for (let n = 0; n < 52; n++) {
    const { code } = await authorizeApp(run.call, app, { session: run.session })
    await exchangeCode(run.call, app, code)
    expect((await exchangeCode(run.call, app, code)).body.error).toBe('invalid_grant')
  }
  const [connection] = await rowsOf<any>(run, oidcConnections)
  expect(connection.generation).toBe(1)
  expect(connection.ended_families.length).toBeLessThanOrEqual(50)
  const fresh = await newAgent(run.call, { app, session: run.session })
  expect((await run.call('GET', '/v4/agent/account', { token: fresh.accessToken })).status).toBe(200)
})
