import { expect, onTestFinished, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { createService } from '../../src/index.js'

function start() {
  const service = createService({ sandbox: true, seed: demo.seed })
  onTestFinished(() => service.close())
  return service
}

test('acts as any caller, and leaves no event', async () => {
  const { fetch, sandbox } = start()
  const email = 'late@example.test'
  await sandbox.signIn(email)
  const events = async () => {
    const { rows } = await sandbox.snapshot()
    return rows.events?.length
  }
  const before = await events()
  const read = async (path: string, principal: string, by?: 'session') => {
    const { headers, principal: named } = await sandbox.actAs(principal, by && { by })
    expect(named).toBe(principal)
    const answer = await fetch(path, { headers })
    await sandbox.requests.read(answer.headers.get('x-request-id') ?? '').then((entry) => {
      expect(entry.principal).toBe(principal)
    })
    return answer.json()
  }
  expect(await read('/v4/account', 'account:1')).toMatchObject({ id: 1 })
  expect(await read('/v4/twins', 'user:1')).toMatchObject({ twins: [{ hostname: demo.payer.hostname }] })
  expect(await read('/v4/session', 'user:3', 'session')).toMatchObject({ user: { email } })
  expect(await read('/v4/session', 'guest')).toMatchObject({ user: null })
  expect(await events()).toBe(before)
})

test('refuses callers that do not exist, and names what is wrong', async () => {
  const { sandbox } = start()
  await sandbox.signIn('late@example.test')
  const refusal = (principal: string, options?: object) =>
    sandbox.actAs(principal, options).catch(({ code, message, fields }) => [code, message, fields.field])
  for (const principal of ['account:9', 'user:9', 'agent:1', 'user:3'])
    expect(await refusal(principal)).toMatchObject(['not_found', expect.stringContaining(principal), undefined])
  expect(await refusal('user:9', { by: 'session' })).toMatchObject([
    'not_found',
    expect.stringContaining('user:9'),
    undefined,
  ])
  expect(await refusal('account:1', { by: 'session' })).toMatchObject(['field_invalid', expect.any(String), 'by'])
  expect(await refusal('ada')).toMatchObject(['field_invalid', expect.stringContaining('account:1'), 'principal'])
  expect(await refusal('user:1', { as: 'x' })).toMatchObject(['field_invalid', expect.any(String), 'as'])
})
