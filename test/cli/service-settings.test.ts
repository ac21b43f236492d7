import { tmpdir } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readSettings, settings } from '../../sandbox/config.js'
import { program } from '../../sandbox/program.js'
import { startSandbox } from '../../sandbox/sandbox.js'
import { caller } from '../support/api.js'
import { newItem, purchase } from '../support/scenes/catalog.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { balanceOf, newReader, newSeller, newTwin, tokenFor } from '../support/scenes/world.js'

/** Options of a service that are settings of the command: each flag changes the service that it starts. */

const upstream = useUpstream()

const KEY = '0f'.repeat(32)

async function started(flags: Record<string, string | string[]>) {
  const given = { memory: true, port: '0', ...flags }
  const sandbox = await startSandbox(await readSettings({ flags: given, environment: {}, directory: tmpdir() }), {
    warn: () => {},
  })
  onTestFinished(() => sandbox.close())
  const [account] = sandbox.credentials.accounts
  const call = caller({ url: sandbox.url, fetch })
  return { call, token: account && (await tokenFor(call, account.client_id, account.client_secret)) }
}

describe('a flag of the command', () => {
  test('is there for every setting', () => {
    const start = program().commands.find((command) => command.name() === 'start')
    const known = start?.options.map(({ long }) => long) ?? []
    expect(known.length).toBeGreaterThan(20)
    const wanted = Object.values(settings).map(({ flags }) => flags.match(/--[a-z\d-]+/)?.[0])
    expect(wanted.filter((flag) => !known.includes(flag))).toEqual([])
  })

  test('--account-creation no refuses new accounts', async () => {
    const { call } = await started({ accountCreation: 'no' })
    const refused = await call('POST', '/v4/account')
    expect([refused.status, refused.body.code]).toEqual([403, 'account_creation_refused'])
    expect((await (await started({ accountCreation: 'yes' })).call('POST', '/v4/account')).status).toBe(201)
  })

  test('--twin-domain names the twins', async () => {
    const { call, token = '' } = await started({ twinDomain: 'wallets.example.test' })
    expect((await newTwin(call, token)).hostname).toMatch(/\.wallets\.example\.test$/)
  })

  test('--limit limits what it names', async () => {
    const { call } = await started({ limit: ['bodyBytes=2000'] })
    const answer = await call('POST', '/v4/session/code', { body: { email: 'x'.repeat(3000) } })
    expect([answer.status, answer.body.code]).toEqual([413, 'body_too_large'])
  })

  test('--encryption-key gives two services of one key the same secrets', async () => {
    const keyOf = async (encryptionKey: string) => {
      const { call } = await started({ encryptionKey })
      const seed = { users: [{ email: 'ada@example.test', client_id: `mid_${'1'.repeat(32)}` }] }
      return (await call('POST', '/_sandbox/seed', { body: seed })).body.users[0].client_secret
    }
    const [one, same, other] = [await keyOf(KEY), await keyOf(KEY), await keyOf('1f'.repeat(32))]
    expect([one === same, one === other]).toEqual([true, false])
  })

  test('--charge-on-upstream-error keeps the payment of a call that the endpoint fails', async () => {
    const outcome = async (flags: Record<string, string>) => {
      const { call } = await started({ allowUpstream: ['127.0.0.1'], ...flags })
      const seller = await newSeller(call)
      const payer = await newReader(call, seller, { balance: 5 })
      const item = await newItem(call, seller, {
        external_endpoint: `${upstream.url}/status/500`,
        service_method: 'POST',
        price: 1,
      })
      const { status } = await purchase(call, { token: payer.token }, item, { arguments: { city: 'Rome' } })
      return [status, await balanceOf(call, payer.token, payer.hostname)]
    }
    expect(await outcome({ chargeOnUpstreamError: 'yes' })).toEqual([201, 4])
    expect(await outcome({})).toEqual([502, 5])
  })
})
