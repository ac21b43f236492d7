import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { fileStorage } from '../adapters/storage/file.js'
import { createService, type Service } from '../src/index.js'
import { type Call, caller } from './support/api.js'
import { balanceOf, newSession, tokenFor } from './support/scenes/world.js'
import type { Facts } from './support/storage/full-state.js'

const states = fileURLToPath(new URL('states/', import.meta.url))
const names = (await readdir(states)).filter((name) => /^v\d+\.json$/.test(name)).map((name) => name.slice(0, -5))

let dir: string | undefined
let service: Service | undefined
afterEach(async () => {
  await service?.close()
  if (dir !== undefined) await rm(dir, { recursive: true })
  service = dir = undefined
})

/** Opens a copy of the data file that a release left. */
async function open(name: string): Promise<{ call: Call; facts: Facts }> {
  dir ??= await mkdtemp(join(tmpdir(), 'farthing-state-'))
  const file = join(dir, 'data.json')
  if (!(await readdir(dir)).includes('data.json')) await copyFile(join(states, `${name}.json`), file)
  const opened = createService({ storage: await fileStorage({ file }), sandbox: true })
  service = opened
  const facts: Facts = JSON.parse(await readFile(join(states, `${name}.facts.json`), 'utf8'))
  return { call: caller({ url: opened.baseUrl, fetch: opened.fetch }), facts }
}

const tokensOf = async (call: Call, { seller, payer }: Facts) => ({
  seller: await tokenFor(call, seller.client_id, seller.client_secret),
  payer: await tokenFor(call, payer.client_id, payer.client_secret),
})

describe.each(names)('the data file of release %s', (name) => {
  it('opens with its balances and a correct ledger', async () => {
    const { call, facts } = await open(name)
    const tokens = await tokensOf(call, facts)
    expect(await balanceOf(call, tokens.payer, facts.payer.hostname)).toBe(facts.payer.balance)
    expect((await call('GET', '/_sandbox/ledger')).body).toMatchObject({ ok: true, broken: null })
  })

  it('still sells its commodities, and validates earlier payments', async () => {
    const { call, facts } = await open(name)
    const tokens = await tokensOf(call, facts)
    const paid = await call('POST', `/v4/payment/${facts.hash}`, { token: tokens.payer, body: {} })
    expect(paid.status).toBe(202)
    const { nonce, timestamp } = paid.body
    const validated = await call('POST', `/v4/payment/${facts.hash}/validate`, {
      token: tokens.seller,
      body: { nonce, timestamp },
    })
    expect(validated.body).toMatchObject({ valid: true })
    expect((await call('GET', '/_sandbox/ledger')).body.ok).toBe(true)
  })

  it('shows each kind of record to its owner', async () => {
    const { call, facts } = await open(name)
    const tokens = await tokensOf(call, facts)
    const bySeller = ['/v4/account', '/v4/twins', '/v4/commodities', '/v4/catalog/mine', '/v4/events', '/v2/users']
    const ofBilling = ['/v4/billing', '/v4/billing/invoices', '/v4/billing/profile']
    for (const path of [...bySeller, ...ofBilling, `/v4/catalog/items/${facts.item}/parameters`])
      expect((await call('GET', path, { token: tokens.seller })).status, path).toBe(200)
    const byPayer = ['/v4/payments', '/v4/purchases', '/v4/transfers', '/v4/approvals', '/v4/agent/settings']
    const ofPeople = ['/v4/persona/delegates', '/v4/notifications/registrations', '/v4/events']
    for (const path of [...byPayer, ...ofPeople])
      expect((await call('GET', path, { token: tokens.payer })).status, path).toBe(200)
    for (const path of [`/v4/checkout/${facts.checkout}`, `/v4/persona/${facts.persona}`, '/v4/catalog/items'])
      expect((await call('GET', path)).status, path).toBe(200)
  })

  it('signs in its users', async () => {
    const { call, facts } = await open(name)
    const session = await newSession(call, facts.reader)
    expect((await call('GET', '/v4/session', { session })).body.user.email).toBe(facts.reader)
  })

  it('opens again after new writes', async () => {
    const first = await open(name)
    const { payer } = await tokensOf(first.call, first.facts)
    await first.call('POST', `/v4/payment/${first.facts.hash}`, { token: payer, body: {} })
    const left = await balanceOf(first.call, payer, first.facts.payer.hostname)
    await service?.close()
    const { call, facts } = await open(name)
    expect(await balanceOf(call, payer, facts.payer.hostname)).toBe(left)
    expect((await call('GET', '/_sandbox/ledger')).body.ok).toBe(true)
  })
})
