import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService } from '../../../src/index.js'
import type { Row } from '../../../src/storage/storage.js'
import { type Answer, type Call, caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, setClock, stopClock } from '../../support/scenes/market.js'
import { basic, newPayer, newSeller } from '../../support/scenes/world.js'

const TOKEN = /^tqmt_[0-9a-f]{32}$/
const HOUR = 3600
const DAY = 24 * HOUR

const paths = ['/v4/account/oauth/token', '/v4/user/oauth/token', '/v2/account/oauth/token', '/v2/user/oauth/token']
const [path] = paths as [string]

const exchange = (call: Call, client: { clientId: string; clientSecret: string }, at = path): Promise<Answer> =>
  call('POST', at, { headers: basic(client.clientId, client.clientSecret) })

const refresh = (call: Call, token: string, at = path): Promise<Answer> => call('POST', at, { token })

const works = async (call: Call, token: string): Promise<boolean> => {
  const answer = await call('GET', '/v4/twins', { token })
  if (answer.status !== 200) expectProblem(answer, 401, 'token_invalid')
  return answer.status === 200
}

contract('the token endpoint, with client credentials', (start) => {
  it('4.1 rule 4: returns tokens of an hour and of 24 hours for the base64 of client_id:client_secret', async () => {
    const { call } = await start()
    const at = (await stopClock(call)) / 1000
    const { status, body } = await exchange(call, await newSeller(call))
    expect(status).toBe(200)
    expect(body).toEqual({
      access_token: expect.stringMatching(TOKEN),
      expires_at: at + HOUR,
      refresh_token: expect.stringMatching(TOKEN),
      refresh_expires_at: at + DAY,
    })
    expect(body.access_token).not.toBe(body.refresh_token)
  })

  it('4.1 rule 4: an access token with five minutes left is returned unchanged', async () => {
    const { call } = await start()
    await stopClock(call)
    const seller = await newSeller(call)
    const first = (await exchange(call, seller)).body
    await advance(call, '55m')
    expect((await exchange(call, seller)).body).toEqual(first)
  })

  it('4.1 rule 4: an access token with 4:59 left is replaced by a new one of an hour', async () => {
    const { call } = await start()
    const at = (await stopClock(call)) / 1000
    const seller = await newSeller(call)
    const first = (await exchange(call, seller)).body
    await advance(call, '55m1s')
    const second = (await exchange(call, seller)).body
    expect(second.access_token).not.toBe(first.access_token)
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(second.expires_at).toBe(at + 55 * 60 + 1 + HOUR)
    expect(await works(call, first.access_token)).toBe(true)
    expect(await works(call, second.access_token)).toBe(true)
  })

  it('4.1 rule 4: the five minutes are exact to the millisecond', async () => {
    const { call } = await start()
    await stopClock(call)
    const seller = await newSeller(call)
    const first = (await exchange(call, seller)).body
    await advance(call, '55m')
    await advance(call, '1ms')
    expect((await exchange(call, seller)).body.access_token).not.toBe(first.access_token)
  })

  it('an access token works until one second before it expires, and is refused from then on', async () => {
    const { call } = await start()
    const at = await stopClock(call)
    const { token } = await newSeller(call)
    await setClock(call, at + (HOUR - 1) * 1000)
    expect(await works(call, token)).toBe(true)
    await setClock(call, at + HOUR * 1000)
    expect(await works(call, token)).toBe(false)
    await setClock(call, at + (HOUR + 1) * 1000)
    expect(await works(call, token)).toBe(false)
  })

  it('takes application/json without a body, a form, a JSON body, and no Content-Type at all', {
    tags: 'everywhere',
  }, async () => {
    const {
      call,
      made: { clientId, clientSecret },
    } = await startWith(start, newSeller)
    const headers = basic(clientId, clientSecret)
    const body = { grant_type: 'client_credentials' }
    const answers = [
      await call('POST', path, { headers: { ...headers, 'content-type': 'application/json' } }),
      await call('POST', path, { headers: { ...headers, 'content-type': 'application/json' }, raw: '' }),
      await call('POST', path, { headers, form: body }),
      await call('POST', path, { headers, body }),
      await call('POST', path, { headers }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  it('accepts the scheme in upper and lower case', async () => {
    const {
      call,
      made: { clientId, clientSecret },
    } = await startWith(start, newSeller)
    const pair = btoa(`${clientId}:${clientSecret}`)
    for (const scheme of ['basic', 'BASIC'])
      expect((await call('POST', path, { headers: { authorization: `${scheme} ${pair}` } })).status).toBe(200)
  })

  it('must not be cached', async () => {
    const { call } = await start()
    expect((await exchange(call, await newSeller(call))).headers.get('cache-control')).toBe('private, no-store')
  })

  it('two clients at once get one pair each, and one client twice at once gets one pair', async () => {
    const { call } = await start()
    const clients = [await newSeller(call), await newSeller(call)]
    await stopClock(call, Date.UTC(2032, 0))
    const pairs = await Promise.all([...clients, ...clients].map((client) => exchange(call, client)))
    const [a, b, c, d] = pairs.map(({ body }) => body.access_token)
    expect([c, d]).toEqual([a, b])
    expect(a).not.toBe(b)
  })
})

contract('the token endpoint, with a refresh token', (start) => {
  it('4.1 rule 5: issues a new access token of an hour and a new refresh token of 24 hours', async () => {
    const { call } = await start()
    const at = (await stopClock(call)) / 1000
    const first = (await exchange(call, await newSeller(call))).body
    await advance(call, '30m')
    const { status, body } = await refresh(call, first.refresh_token)
    expect(status).toBe(200)
    expect(body).toEqual({
      access_token: expect.stringMatching(TOKEN),
      expires_at: at + 30 * 60 + HOUR,
      refresh_token: expect.stringMatching(TOKEN),
      refresh_expires_at: at + 30 * 60 + DAY,
    })
    expect([first.access_token, first.refresh_token]).not.toContain(body.access_token)
    expect(body.refresh_token).not.toBe(first.refresh_token)
    expect(await works(call, body.access_token)).toBe(true)
  })

  it('4.1 rule 5: the presented refresh token is destroyed: each works once', async () => {
    const { call } = await start()
    const first = (await exchange(call, await newSeller(call))).body
    const second = (await refresh(call, first.refresh_token)).body
    expectProblem(await refresh(call, first.refresh_token), 401, 'refresh_token_invalid')
    expect((await refresh(call, second.refresh_token)).status).toBe(200)
  })

  it('4.1 rule 5: one of many calls at once with one refresh token succeeds', async () => {
    const { call } = await start()
    const { refresh_token } = (await exchange(call, await newSeller(call))).body
    const answers = await Promise.all(paths.map((at) => refresh(call, refresh_token, at)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
  })

  it('works until one second before it expires, and is refused from then on', async () => {
    const { call } = await start()
    const at = await stopClock(call)
    const [one, other] = [await newSeller(call), await newSeller(call)]
    const [inTime, tooLate] = [(await exchange(call, one)).body, (await exchange(call, other)).body]
    await setClock(call, at + (DAY - 1) * 1000)
    expect((await refresh(call, inTime.refresh_token)).status).toBe(200)
    await setClock(call, at + DAY * 1000)
    expectProblem(await refresh(call, tooLate.refresh_token), 401, 'refresh_token_invalid')
    await setClock(call, at + (DAY + 1) * 1000)
    expectProblem(await refresh(call, tooLate.refresh_token), 401, 'refresh_token_invalid')
  })

  it('the access token that came with it lasts for its stated time', async () => {
    const { call } = await start()
    const at = await stopClock(call)
    const first = (await exchange(call, await newSeller(call))).body
    await refresh(call, first.refresh_token)
    await setClock(call, at + (HOUR - 1) * 1000)
    expect(await works(call, first.access_token)).toBe(true)
    await setClock(call, at + HOUR * 1000)
    expect(await works(call, first.access_token)).toBe(false)
  })

  it('the client credentials return the same pair, however many came in the same second', async () => {
    const { call } = await start()
    await stopClock(call)
    const seller = await newSeller(call)
    let last = (await exchange(call, seller)).body
    for (let i = 0; i < 30; i++) last = (await refresh(call, last.refresh_token)).body
    expect((await exchange(call, seller)).body).toEqual(last)
  })

  it('is not an access token, and an access token is not a refresh token', async () => {
    const { call } = await start()
    const pair = (await exchange(call, await newSeller(call))).body
    expect(await works(call, pair.refresh_token)).toBe(false)
    expectProblem(await refresh(call, pair.access_token), 401, 'refresh_token_invalid')
    expect((await refresh(call, pair.refresh_token)).status).toBe(200)
  })
})

contract('the token endpoint, on its two paths under two versions', (start) => {
  it.each(paths)('4.1 rule 6: %s serves accounts and users: the credentials decide, not the path', async (at) => {
    const { call, made: seller } = await startWith(start, newSeller)
    const payer = await newPayer(call, seller)
    for (const exchanged of [
      exchange,
      async (...[...args]: Parameters<typeof exchange>) => {
        const { refresh_token } = (await exchange(...args)).body
        return refresh(call, refresh_token, at)
      },
    ]) {
      const ofAccount = (await exchanged(call, seller, at)).body.access_token
      expect((await call('GET', '/v4/account', { token: ofAccount })).body.id).toBe(seller.id)
      const ofUser = (await exchanged(call, payer, at)).body.access_token
      expect((await call('GET', `/v4/user/${payer.id}`, { token: ofUser })).body.secrets).toHaveLength(1)
      expectProblem(await call('GET', '/v4/account', { token: ofUser }), 403, 'not_an_account')
    }
  })

  it('4.1 rule 6: every path returns the same token', { tags: 'everywhere' }, async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const tokens = []
    for (const at of paths) tokens.push((await exchange(call, seller, at)).body.access_token)
    expect(new Set(tokens)).toEqual(new Set([seller.token]))
  })
})

contract('the token endpoint refuses', (start) => {
  it('4.1 rule 7: no Authorization header, or an empty one, with 401', async () => {
    const { call } = await start()
    for (const options of [{}, { headers: { authorization: '' } }, { headers: { 'x-session-id': 'ms_0' } }]) {
      const answer = await call('POST', path, options)
      expectProblem(answer, 401, 'credentials_missing')
      expect(answer.headers.get('www-authenticate')).toBe('Basic, Bearer')
    }
  })

  it('4.1 rule 7: unknown client credentials, with 401', async () => {
    const {
      call,
      made: { clientId, clientSecret, publicSecret, token },
    } = await startWith(start, newSeller)
    const other = await newSeller(call)
    const wrong = [
      [clientId, `mc_${'0'.repeat(32)}`],
      [clientId, ''],
      [clientId, clientSecret.slice(0, -1)],
      [clientId, `${clientSecret}0`],
      [clientId, `${clientSecret.slice(0, 9)}:${clientSecret.slice(9)}`],
      [clientId, other.clientSecret],
      [clientId, publicSecret],
      [clientId, token],
      [`mid_${'0'.repeat(32)}`, clientSecret],
      ['', clientSecret],
      ['a\0b', clientSecret],
    ] as const
    for (const [id, secret] of wrong)
      expectProblem(await call('POST', path, { headers: basic(id, secret) }), 401, 'client_unknown')
    for (const authorization of ['Basic', 'Basic ', 'Basic %%%', `Basic ${btoa(clientId)}`])
      expectProblem(await call('POST', path, { headers: { authorization } }), 401, 'client_unknown')
  })

  it('4.1 rule 7: an invalid refresh token, with 401', async () => {
    const {
      call,
      made: { clientSecret },
    } = await startWith(start, newSeller)
    for (const authorization of ['Bearer', `Bearer tqmt_${'0'.repeat(32)}`, `Bearer ${clientSecret}`, 'bearer a b'])
      expectProblem(await call('POST', path, { headers: { authorization } }), 401, 'refresh_token_invalid')
  })

  it('4.1 rule 7: a scheme that is neither Basic nor Bearer, with 403', async () => {
    const {
      call,
      made: { clientId, clientSecret },
    } = await startWith(start, newSeller)
    const pair = btoa(`${clientId}:${clientSecret}`)
    for (const authorization of [`Digest ${pair}`, 'Token x', `Basic:${pair}`, pair, 'BasicBearer x'])
      expectProblem(await call('POST', path, { headers: { authorization } }), 403, 'scheme_refused')
  })

  it('a grant that does not fit the credentials, naming the field, in JSON and in a form', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const headers = basic(seller.clientId, seller.clientSecret)
    const refused = [
      await call('POST', path, { headers, body: { grant_type: 1 } }),
      await call('POST', path, { headers, body: { grant_type: '' } }),
      await call('POST', path, { headers, form: { grant_type: 'refresh_token' } }),
    ]
    for (const at of paths) {
      const form = { grant_type: 'password', username: 'ada@example.test', password: '123456' }
      refused.push(await call('POST', at, { headers, form }), await call('POST', at, { headers, body: form }))
    }
    const pair = (await exchange(call, seller)).body
    refused.push(await call('POST', path, { token: pair.refresh_token, form: { grant_type: 'authorization_code' } }))
    for (const answer of refused) {
      expectProblem(answer, 400, 'field_invalid')
      expect(answer.body.field).toBe('grant_type')
    }
    // The refusal did not use the refresh token up.
    const refreshed = await call('POST', path, { token: pair.refresh_token, form: { grant_type: 'refresh_token' } })
    expect(refreshed.status).toBe(200)
  })

  it.each(paths)(
    '%s: a wrong secret after 20 others in a minute, with 429 until the minute is over, and never the right one',
    async (at) => {
      const { call } = await start()
      await stopClock(call)
      const [seller, other] = [await newSeller(call), await newSeller(call)]
      const wrong = () => exchange(call, { ...seller, clientSecret: `mc_${'0'.repeat(32)}` }, at)
      for (let i = 0; i < 19; i++) expectProblem(await wrong(), 401, 'client_unknown')
      expect((await exchange(call, seller, at)).status).toBe(200)
      expectProblem(await wrong(), 401, 'client_unknown')

      const refused = await wrong()
      expectProblem(refused, 429, 'too_many_failures')
      expect(refused.headers.get('retry-after')).toBe('60')
      for (const right of [seller, other]) expect((await exchange(call, right, at)).status).toBe(200)

      await advance(call, '59s')
      const last = await wrong()
      expectProblem(last, 429, 'too_many_failures')
      expect(last.headers.get('retry-after')).toBe('1')
      await advance(call, '1s')
      expectProblem(await wrong(), 401, 'client_unknown')
    },
  )

  it('an unknown client id every time, and stores nothing about it', async () => {
    const { call, state } = await start()
    const before = (await state()).rows
    for (let i = 0; i < 25; i++)
      expectProblem(
        await exchange(call, { clientId: `mid_${'1'.repeat(32)}`, clientSecret: 'x' }),
        401,
        'client_unknown',
      )
    expect((await state()).rows).toEqual(before)
  })
})

describe('revoked client credentials', () => {
  it('4.1 rule 7: get no tokens, and neither does their refresh token: 401', async () => {
    const storage = memoryStorage()
    const service = createService({ storage, sandbox: true })
    const call = caller({ url: 'http://127.0.0.1:4242', fetch: service.fetch })
    const seller = await newSeller(call)
    const { refresh_token } = (await exchange(call, seller)).body
    const state = await storage.export()
    const revoke = (row: Row) => (row.id === seller.clientId ? { ...row, deleted_at: 1 } : row)
    await storage.import({ ...state, rows: { ...state.rows, clients: (state.rows.clients ?? []).map(revoke) } })
    for (const at of paths) {
      expectProblem(await exchange(call, seller, at), 401, 'client_unknown')
      expectProblem(await refresh(call, refresh_token, at), 401, 'refresh_token_invalid')
    }
  })
})
