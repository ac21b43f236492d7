import { createService, type ServiceOptions } from 'farthing'
import { describe, expect, it, onTestFinished } from 'vitest'

/** The address that the journal shows for a call. */
async function addressOf(
  { peerAddress, forwarded }: { peerAddress?: string; forwarded?: string },
  options: Partial<ServiceOptions> = {},
): Promise<string | undefined> {
  const service = createService({ sandbox: true, ...options })
  onTestFinished(() => service.close())
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  const request = new Request(`${service.baseUrl}/v4/dq`, { headers })
  const { status } = await service.respond(request, peerAddress === undefined ? {} : { peerAddress })
  expect(status).toBe(200)
  const { requests } = await service.sandbox.requests.list()
  return requests[0]?.client_address
}

describe('the address of a caller', () => {
  it.each([
    ['10.0.0.7', '10.0.0.7'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['2001:DB8::7', '2001:db8::7'],
    ['', undefined],
  ])('of a connection from "%s" is %s', async (peerAddress, shown) => {
    expect(await addressOf({ peerAddress })).toBe(shown)
  })

  it('is absent if the call came over no network', async () => {
    expect(await addressOf({})).toBeUndefined()
    expect(await addressOf({ forwarded: '203.0.113.9' }, { trustProxy: true })).toBeUndefined()
  })

  it('is that of the connection, whatever a caller says of it', async () => {
    expect(await addressOf({ peerAddress: '10.0.0.7', forwarded: '203.0.113.9' })).toBe('10.0.0.7')
  })

  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['203.0.113.9:50001', '203.0.113.9'],
    ['2001:db8::9', '2001:db8::9'],
    ['[2001:db8::9]:443', '2001:db8::9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['203.0.113.9, unknown', '10.0.0.7'],
    ['<script>', '10.0.0.7'],
    ['cafe', '10.0.0.7'],
    ['12', '10.0.0.7'],
    ['', '10.0.0.7'],
  ])('behind a trusted proxy that sends "%s" is %s', async (forwarded, shown) => {
    expect(await addressOf({ peerAddress: '10.0.0.7', forwarded }, { trustProxy: true })).toBe(shown)
  })

  it('makes nobody local', async () => {
    const service = createService({ sandbox: true, trustProxy: true })
    onTestFinished(() => service.close())
    const headers = { 'x-forwarded-for': '127.0.0.1' }
    const request = () => new Request(`${service.baseUrl}/_sandbox/clock`, { headers })
    for (const peerAddress of ['127.0.0.1', '203.0.113.9'])
      expect((await service.respond(request(), { peerAddress })).status).toBe(403)
  })
})
