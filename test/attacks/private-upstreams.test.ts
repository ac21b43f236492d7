import { beforeAll, describe, expect, it } from 'vitest'
import { nodeUpstream } from '../../adapters/node.js'
import { attackedSandbox, startTarget, type Target } from '../support/scenes/strangers.js'
import { tokenFor } from '../support/scenes/world.js'

const { target } = attackedSandbox()
beforeAll(() => seedSeller(target()))

/** Upstream calls pay this seller. */
const seedSeller = ({ service }: Target) =>
  service.sandbox.seed({ accounts: [{ name: 'A seller', hostname: 'seller.test' }] })

describe('an upstream call of a sandbox over HTTP', () => {
  const privateHosts = [
    '10.0.0.1',
    '192.168.1.1',
    '172.16.0.1',
    '3232235777',
    '0xc0a80101',
    '0300.0250.1.1',
    '192.168.1.1.',
    '[::ffff:192.168.1.1]',
    '[64:ff9b::192.168.1.1]',
    '[2002:c0a8:101::]',
    '[fd00::1]',
    '100.64.0.1',
    'router',
    'printer.local',
    'nas.home.arpa',
    'db.internal',
    'host.docker.internal',
  ]

  async function order(into: Target, serviceUrl: string) {
    const [user] = (await into.service.sandbox.credentials()).users
    const token = await tokenFor(into.call, `${user?.client_id}`, `${user?.client_secret}`)
    const body = { amount: 0.001, destination: 'seller.test', serviceUrl }
    const answer = await into.call('POST', '/v4/paywall', { token, body })
    return [answer.status, answer.body?.code ?? '', answer.body?.error ?? ''] as const
  }

  it.each(privateHosts)('does not reach the private network: %s', async (host) => {
    const [status, code, error] = await order(target(), `http://${host}:81/`)
    expect([status, code]).toEqual([422, 'upstream_refused'])
    expect(error).toContain('start the sandbox with --allow-upstream')
  })

  it('does not reach it through a public name either, and reaches allowed hosts', async () => {
    const connected: string[] = []
    const names: Record<string, string> = {
      'rebound.example.test': '192.168.1.1',
      'mapped.example.test': '::ffff:10.0.0.5',
      'cloud.example.test': '169.254.169.254',
      inside: '10.9.9.9',
      localhost: '127.0.0.1',
      'metadata-inside': '169.254.169.254',
    }
    const real = nodeUpstream({
      lookup: async (name) => {
        const address = names[name] ?? '192.0.2.1'
        return [{ address, family: address.includes(':') ? 6 : 4 }]
      },
    })
    const started = await startTarget({
      allowUpstream: ['inside', 'metadata-inside', '172.20.0.0/16', '169.254.169.254', '192.168.7.7'],
      upstream: {
        async fetch(request) {
          const { hostname } = new URL(request.url)
          const address = names[hostname] ?? hostname.replace(/[[\]]/g, '')
          if (!request.mayConnect(address)) return real.fetch(request)
          connected.push(address)
          return new Response('ok')
        },
      },
    })
    await seedSeller(started)
    const codeOf = async (url: string) => (await order(started, url)).slice(0, 2).join(' ')
    for (const name of ['rebound', 'mapped', 'cloud'])
      expect([name, await codeOf(`http://${name}.example.test/`)]).toEqual([name, '502 upstream_failed'])
    expect(await codeOf('http://metadata-inside/')).toBe('502 upstream_failed')
    expect(await codeOf('http://169.254.169.254/')).toBe('422 upstream_refused')
    expect(await codeOf('http://172.21.0.1/')).toBe('422 upstream_refused')
    expect(connected).toEqual([])
    for (const host of [
      'inside',
      '172.20.3.4',
      '192.168.7.7',
      '[::ffff:172.20.3.4]',
      '127.0.0.1',
      'localhost',
      '[::1]',
      '8.8.8.8',
    ])
      expect([host, await codeOf(`http://${host}/`)]).toEqual([host, '200 '])
    await started.close()
  })

  it('cannot reach the controls of this or another sandbox', async () => {
    const other = await startTarget()
    for (const into of [target(), other])
      for (const path of ['/_sandbox/outbox', '/_sandbox/snapshot'])
        for (const host of ['127.0.0.1', 'localhost']) {
          const url = `http://${host}:${into.port}${path}`
          const [status, , error] = await order(target(), url)
          expect([status, error]).toEqual([403, expect.stringContaining('control token')])
        }
    await other.close()
  })
})
