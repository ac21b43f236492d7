import { expect, test } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { advance, expectProblem, readPages, stopClock } from '../../support/scenes/market.js'

const askCode = async (call: Call, email: string) => {
  const session = (await call('GET', '/v4/session')).body.session_id
  expect((await call('POST', '/v4/session/code', { session, body: { email } })).status).toBe(202)
  return session as string
}

const to = (email: string) => `/_sandbox/outbox?to=${encodeURIComponent(email)}`

contract('readOutbox', (start) => {
  test('shows a mail at once, with the codes in it', async () => {
    const { call } = await start()
    const at = await stopClock(call)
    await askCode(call, 'ada+code123456@example.test')
    const { status, body } = await call('GET', '/_sandbox/outbox')
    expect(status).toBe(200)
    expect(body).toEqual({
      messages: [
        {
          id: expect.any(Number),
          kind: 'mail',
          to: 'ada+code123456@example.test',
          subject: expect.stringContaining('123456'),
          text: expect.stringContaining('123456'),
          status: expect.stringMatching(/^(pending|sent)$/),
          codes: ['123456'],
          links: [],
          created_at: at / 1000,
        },
      ],
      next: null,
    })
  })

  test('shows the code that signs in', async () => {
    const { call } = await start()
    const session = await askCode(call, 'ada@example.test')
    const [{ codes }] = (await call('GET', to('ada@example.test'))).body.messages
    expect(codes).toEqual([expect.stringMatching(/^\d{6}$/)])
    const body = { email: 'ada@example.test', code: codes[0] }
    expect((await call('POST', '/v4/session/verify', { session, body })).status).toBe(200)
  })

  test('filters by recipient in any case, and by kind', async () => {
    const { call } = await start()
    for (const email of ['ada@example.test', 'bob@example.test', 'Ada@Example.test']) await askCode(call, email)
    const receivers = async (path: string) => (await call('GET', path)).body.messages.map((message: any) => message.to)
    expect(await receivers(to('ADA@example.test'))).toEqual(['ada@example.test', 'ada@example.test'])
    expect(await receivers(to('eve@example.test'))).toEqual([])
    expect(await receivers(`${to('bob@example.test')}&kind=mail`)).toEqual(['bob@example.test'])
    expect(await receivers('/_sandbox/outbox?kind=mail')).toHaveLength(3)
  })

  test('pages through them, newest first', async () => {
    const { call } = await start()
    const emails = []
    for (let n = 0; n < 5; n++) {
      await askCode(call, `ada${n % 2}@example.test`)
      emails.unshift(`ada${n % 2}@example.test`)
    }
    const read = (path: string, limit: number) => readPages(call, path, { plural: 'messages', limit })
    const pages = await read('/_sandbox/outbox', 2)
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1])
    expect(pages.flat().map((message) => message.to)).toEqual(emails)
    expect((await read(to('ada0@example.test'), 1)).map((page) => page.length)).toEqual([1, 1, 1])
  })

  test('refuses an invalid cursor, limit, recipient or kind', async () => {
    const { call } = await start()
    await askCode(call, 'ada@example.test')
    const [{ id }] = (await call('GET', '/_sandbox/outbox')).body.messages
    expectProblem(await call('GET', '/_sandbox/outbox?after=999999'), 400, 'cursor_invalid')
    expectProblem(await call('GET', `${to('bob@example.test')}&after=${id}`), 400, 'cursor_invalid')
    for (const query of ['limit=0', 'limit=101', 'to=ada', 'kind=pigeon', 'after=x'])
      expectProblem(await call('GET', `/_sandbox/outbox?${query}`), 400, 'field_invalid')
  })
})

contract('emptyOutbox', (start) => {
  test('deletes the messages, and collects new ones', async () => {
    const { call, state } = await start()
    for (let n = 0; n < 3; n++) await askCode(call, `ada${n}@example.test`)
    const answer = await call('DELETE', '/_sandbox/outbox')
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect((await call('GET', '/_sandbox/outbox')).body).toEqual({ messages: [], next: null })
    await askCode(call, 'bob@example.test')
    expect((await call('GET', '/_sandbox/outbox')).body.messages).toHaveLength(1)
    expect((await state()).rows.outbox).toHaveLength(1)
  })

  test('does not end the codes of deleted messages', async () => {
    const { call } = await start()
    const session = await askCode(call, 'ada+code654321@example.test')
    await call('DELETE', '/_sandbox/outbox')
    const body = { email: 'ada+code654321@example.test', code: '654321' }
    expect((await call('POST', '/v4/session/verify', { session, body })).status).toBe(200)
    await advance(call, '1s')
    expect((await call('DELETE', '/_sandbox/outbox')).status).toBe(204)
  })
})
