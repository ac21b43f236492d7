import { expect, test } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { connect, messageIn, modern, send } from '../../support/mcp/mcp.js'
import { expectProblem } from '../../support/scenes/market.js'
import { askCode, newGuest } from '../../support/scenes/sign-in.js'
import { newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'

const path = '/_sandbox/mcp'

/** The result of a tool, by one message without a handshake. */
async function use(call: Call, name: string, args: object = {}): Promise<any> {
  const answer = await send(call, { id: 1, method: 'tools/call', params: { name, arguments: args } }, { path })
  const { result } = messageIn(answer)
  return result
}

async function done(call: Call, name: string, args: object = {}): Promise<any> {
  const { isError, structuredContent } = await use(call, name, args)
  expect(isError, JSON.stringify(structuredContent)).toBeUndefined()
  return structuredContent
}

const textOf = ({ content }: { content: { text: string }[] }): string => content.map(({ text }) => text).join('\n')

contract('callSandboxMcp', (start) => {
  test('lists its tools without a handshake, and in both eras', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const bare = messageIn(await send(call, { id: 1, method: 'tools/list', params: {} }, { path }))
    const { headers, message } = modern('tools/list')
    const later = messageIn(await send(call, message, { path, headers }))
    const named = ({ result }: any) => result.tools.map(({ name }: { name: string }) => name)
    expect(named(bare)).toEqual([
      ...['last_error', 'search_requests', 'explain', 'replay_diff'],
      ...['seed', 'fund', 'clock', 'ledger', 'arm_fault', 'fork', 'rewind', 'outbox', 'answer_phone', 'docs_search'],
    ])
    expect(named(later)).toEqual(named(bare))
    for (const { description, inputSchema } of bare.result.tools) {
      expect(description.split(' ').length).toBeGreaterThan(8)
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
    }
  })

  test('shows the last refusal, and finds entries, but not its own calls', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    expect(await done(call, 'last_error', { operation_id: 'createPayment' })).toEqual({ entry: null })
    const seller = await newSeller(call)
    const commodity = await newCommodity(call, seller)
    const payer = await newPayer(call, seller, { balance: 0.25 })
    const pay = () => call('POST', `/v4/payment/${commodity.hash}`, { token: payer.token, body: {} })
    const paid = await pay()
    const refused = await pay()
    expectProblem(refused, 402, 'insufficient_funds')
    const id = refused.headers.get('x-request-id') ?? ''
    const shown = await use(call, 'last_error')
    expect(shown.structuredContent.entry).toMatchObject({ id, status: 402, code: 'insufficient_funds', caused: [] })
    expect(textOf(shown)).toContain(`${id} POST /v4/payment/${commodity.hash} → 402 insufficient_funds, by user:`)
    expect(textOf(shown)).toContain('Sent, as data: {}')
    expect(shown.structuredContent.fix.operation_id).toBe('fundTwin')
    expect(textOf(shown)).toContain('To fix it, send POST /_sandbox/fund')
    const explained = await use(call, 'explain', { id })
    expect(explained.structuredContent).toMatchObject({ entry: { id }, fix: { operation_id: 'fundTwin' } })
    expect(textOf(explained)).toContain('createPayment was refused with 402 insufficient_funds')
    const found = await done(call, 'search_requests', { operation_id: 'createPayment' })
    expect(found.requests.map((entry: any) => entry.id)).toEqual([id, paid.headers.get('x-request-id')])
    expect(JSON.stringify(found)).not.toContain(payer.token)
    const first = await done(call, 'search_requests', { operation_id: 'createPayment', limit: 1 })
    expect(first).toMatchObject({ requests: [{ id }], next: id })
    const rest = await done(call, 'search_requests', { operation_id: 'createPayment', after: id })
    expect(rest).toMatchObject({ requests: [{ id: paid.headers.get('x-request-id') }], next: null })
    expect(await done(call, 'search_requests', { q: 'mcp' })).toEqual({ requests: [], next: null })
  })

  test('seeds, funds, moves the clock and audits like the controls', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const users = Array.from({ length: 25 }, (_, at) => ({ email: `reader${at}@example.test`, balance: 1 }))
    const seeded = await use(call, 'seed', { accounts: [{ name: 'Kiosk' }], users })
    const [account] = seeded.structuredContent.accounts
    // A model may see only the text, and needs the credentials.
    expect(textOf(seeded)).toContain(`client_secret ${account.client_secret}`)
    expect(textOf(seeded)).toContain('and 16 more.')
    expect(seeded.structuredContent.users).toHaveLength(20)
    expect(seeded.structuredContent.cut).toContain('/_sandbox')
    const [user] = seeded.structuredContent.users
    const funded = await done(call, 'fund', { hostname: user.twin.hostname, amount: 2 })
    expect(funded).toMatchObject({ amount: 2, balance: 3 })
    const before = await done(call, 'clock', { mode: 'manual' })
    const after = await done(call, 'clock', { advance: '1h' })
    expect(Date.parse(after.now) - Date.parse(before.now)).toBe(3_600_000)
    expect(await done(call, 'clock')).toEqual(after)
    expect(await done(call, 'ledger')).toMatchObject({ ok: true, broken: null })
  })

  test('sends a call again in a fork, and says what differs', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { hash } = await newCommodity(call, seller)
    const payer = await newPayer(call, seller, { balance: 0.25 })
    const paid = await call('POST', `/v4/payment/${hash}`, { token: payer.token, body: {} })
    const id = paid.headers.get('x-request-id')
    const same = await use(call, 'replay_diff', { id })
    expect(same.structuredContent).toMatchObject({ state: 'before', diff: [], effects: { same: true } })
    expect(textOf(same)).toContain('The repetition got 202')
    const again = await use(call, 'replay_diff', { id, in: 'place' })
    expect(again.structuredContent.diff).toContainEqual({ path: 'status', was: 202, is: 402 })
    expect(textOf(again)).toContain('status: was 202, is 402')
    expect(textOf(again)).toContain('movement: caused 1 before, 0 now')
    expect((await use(call, 'replay_diff', { id, place: 'fork' })).structuredContent.field).toBe('place')
  })

  test('arms a fault, which the last error names', async () => {
    const { call } = await start()
    const body = { error: 'Closed.', status: 503, code: 'storage_unavailable', docs: 'https://docs.example.test' }
    const act = { status: 503, body }
    const fault = { id: 'closed', match: { operation_id: 'listTwins' }, at: 'before', do: act, times: 1 }
    expect(await done(call, 'arm_fault', fault)).toMatchObject({ id: 'closed', fired: 0 })
    const { token } = await newSeller(call)
    expect((await call('GET', '/v4/twins', { token })).status).toBe(503)
    expect((await call('GET', '/v4/twins', { token })).status).toBe(200)
    const shown = await use(call, 'last_error')
    expect(shown.structuredContent.entry).toMatchObject({ fault: 'closed', status: 503 })
    expect(textOf(shown)).toContain('The fault closed of the sandbox changed this answer.')
    const wrong = await use(call, 'arm_fault', { ...fault, at: 'mid_body' })
    expect(wrong.structuredContent).toMatchObject({ code: 'field_invalid', field: 'at' })
  })

  test('forks and rewinds', async () => {
    const { call } = await start()
    const { accounts } = await done(call, 'seed', { accounts: [{ name: 'Kiosk', balance: 1 }] })
    const { hostname } = accounts[0].twin
    const funded = await call('POST', '/_sandbox/fund', { body: { hostname, amount: 2 } })
    await done(call, 'fund', { hostname, amount: 100 })
    await done(call, 'rewind', { to: funded.headers.get('x-request-id') })
    const { id, url } = await done(call, 'fork')
    expect(url).toContain(`/_sandbox/forks/${id}`)
    const inFork: Call = (method, at, options) => call(method, `/_sandbox/forks/${id}${at}`, options)
    expect(await done(inFork, 'fund', { hostname, amount: 10 })).toMatchObject({ balance: 13 })
    expect(await done(call, 'fund', { hostname, amount: 1 })).toMatchObject({ balance: 4 })
    const unknown = await use(call, 'rewind', { to: 'req_gone_0000001' })
    expect(unknown.structuredContent).toMatchObject({ code: 'not_found' })
  })

  test('refuses a wrong argument by its name, and changes nothing', async () => {
    const { call } = await start()
    const refuse = async (name: string, args: object, detail: string) => {
      const refused = await use(call, name, args)
      expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'field_invalid' } })
      expect(textOf(refused)).toContain(detail)
    }
    await refuse('clock', { advnce: '1h' }, '"advnce" is not a field. Did you mean "advance"?')
    await refuse('clock', { advnce: '1h', mod: 'manual' }, 'mean "advance"? "mod" is not a field. Did you mean "mode"?')
    await refuse('seed', { users: [{ email: 'ada@example.test' }, { email: 'ada' }] }, '"users.1.email"')
    await refuse('answer_phone', { answer: 'approve' }, 'Name the user by "email" or "user_id".')
    await refuse('answer_phone', { approval_id: 'a' }, '"answer" is missing')
    await refuse('search_requests', { limit: 21 }, '"limit"')
    const unknown = await use(call, 'answer_phone', { email: 'ada@example.test' })
    expect(unknown.structuredContent).toMatchObject({ code: 'not_found', docs: expect.stringContaining('not_found') })
    const { error } = messageIn(await send(call, { id: 1, method: 'tools/call', params: { name: 'drop' } }, { path }))
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('There is no tool drop') })
  })

  test('plays the phone and reads the mail of a user', async () => {
    const { call } = await start()
    const email = 'reader@example.test'
    const { users } = await done(call, 'seed', { users: [{ email }] })
    expect(await done(call, 'answer_phone', { email, mode: 'approve' })).toMatchObject({
      user_id: users[0].id,
      mode: 'approve',
      requests: [],
    })
    const answered = await done(call, 'answer_phone', { user_id: users[0].id, answer: 'reject' })
    expect(answered).toMatchObject({ mode: 'approve', answered: [] })
    await askCode(call, await newGuest(call), email)
    const mail = await use(call, 'outbox', { to: email })
    const [code] = mail.structuredContent.messages[0].codes
    expect(textOf(mail)).toContain(`mail to ${email}`)
    expect(textOf(mail)).toContain(`code ${code}`)
  })

  test('searches operations, error codes and guides', async () => {
    const { call } = await start()
    const first = async (query: string) => (await done(call, 'docs_search', { query })).results[0]
    expect(await first('createPayment')).toMatchObject({ kind: 'operation', at: 'POST /v4/payment/{hash}' })
    expect(await first('nonce_used')).toMatchObject({
      kind: 'error',
      at: expect.stringMatching(/\/docs\/errors\/nonce_used$/),
    })
    expect(await first('mock service worker react')).toMatchObject({ kind: 'guide', at: 'docs/guides/react-msw.md' })
    const { results } = await done(call, 'docs_search', { query: 'balance', limit: 3 })
    expect(results).toHaveLength(3)
    for (const { text } of results) expect(text.length).toBeLessThan(350)
    expect((await use(call, 'docs_search', { query: 'qqqqqqqq' })).structuredContent).toEqual({ results: [] })
  })

  test('serves the official client', async () => {
    const place = await start()
    for (const era of ['2025-11-25', '2026-07-28'] as const) {
      const client = await connect(place, { path, token: 'none', era })
      const result = await client.callTool({ name: 'clock', arguments: {} })
      expect(result.structuredContent).toMatchObject({ now: expect.stringMatching(/^\d{4}-/) })
      await client.close()
    }
  })

  test('keeps the secrets of its answers out of the journal', async () => {
    const { call } = await start()
    const seeded = await done(call, 'seed', { accounts: [{ name: 'Kiosk' }] })
    const { requests } = (await call('GET', '/_sandbox/requests?operation_id=callSandboxMcp')).body
    expect(requests[0]).toMatchObject({ origin: 'mcp', status: 200, caused: expect.any(Array) })
    expect(JSON.stringify(requests)).not.toContain(seeded.accounts[0].client_secret)
  })
})
