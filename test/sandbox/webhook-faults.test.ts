import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemAlarm } from '../../src/base/ports.js'
import { createService, type Fault } from '../../src/index.js'
import { caller } from '../support/api.js'
import { deliveriesOf, until, writeEvent } from '../support/scenes/webhooks.js'
import { newSeller, tokenFor } from '../support/scenes/world.js'

/** A server that notes the ids of what it receives. */
async function startReceiver() {
  const received: (string | undefined)[] = []
  const server = createServer((request, response) => {
    received.push(request.headers['webhook-id']?.toString())
    request.resume().on('end', () => response.writeHead(204).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

/** An event on its way to a real receiver, and a fault that waits for it. */
async function deliver(fault: Pick<Fault, 'at' | 'do' | 'times'>) {
  const { received, url } = await startReceiver()
  const waits: number[] = []
  const alarm = {
    set(ms: number, ring: () => void) {
      if (ms !== LATE_MS) return systemAlarm.set(ms, ring)
      waits.push(received.length)
      return systemAlarm.set(0, ring)
    },
  }
  const service = createService({ sandbox: true, alarm, log: { error() {} } })
  onTestFinished(() => service.close())
  const { sandbox } = service
  await sandbox.setClock({ mode: 'manual' })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const { body: webhook } = await call('POST', '/v4/webhooks', {
    token: seller.token,
    body: { url, events: ['client.*'] },
  })
  await sandbox.faults.arm({ id: 'on-the-way', match: { port: 'webhook', path: '/hook', method: 'POST' }, ...fault })
  await writeEvent(call, seller)
  const shown = async () => {
    const token = await tokenFor(call, seller.clientId, seller.clientSecret)
    const [delivery] = await deliveriesOf(call, { token }, webhook.id)
    const { requests } = await sandbox.requests.list({ operation_id: 'webhook', limit: 100 })
    return {
      status: delivery.status,
      tries: delivery.tries.map(
        (tried: { status: number | null; error: string | null }) => tried.error ?? tried.status,
      ),
      faults: requests.toReversed().map(({ fault }) => fault ?? null),
      received: received.length,
    }
  }
  return { received, waits, sandbox, shown }
}

const LATE_MS = 12_345

test.each<[what: string, Pick<Fault, 'at' | 'do'>, tries: (string | number)[], received: [number, number]]>([
  ['is lost', { at: 'before', do: { drop: true } }, ['unreachable', 204], [0, 1]],
  ['is answered by something in between', { at: 'before', do: { status: 503 } }, ['bad_status', 204], [0, 1]],
  ['arrives, and its answer is lost', { at: 'after_commit', do: { drop: true } }, ['unreachable', 204], [1, 2]],
  ['arrives, and something in between fails', { at: 'after_commit', do: { status: 502 } }, ['bad_status', 204], [1, 2]],
  ['arrives twice', { at: 'after_commit', do: { duplicate: true } }, [204], [2, 2]],
  ['arrives late', { at: 'before', do: { delay_ms: LATE_MS } }, [204], [1, 1]],
])('a delivery to a real receiver %s, and its tries and entries say so', async (_, fault, tries, [first, last]) => {
  const { received, waits, sandbox, shown } = await deliver({ ...fault, times: 1 })
  await until(async () => (await shown()).tries.length === 1)
  expect(await shown()).toEqual({
    status: tries.length === 1 ? 'succeeded' : 'pending',
    tries: tries.slice(0, 1),
    faults: ['on-the-way'],
    received: first,
  })
  await sandbox.advance('5s')
  expect(await shown()).toEqual({
    ...{ status: 'succeeded', tries, received: last },
    faults: ['on-the-way', null].slice(0, tries.length),
  })
  // Whatever happens to it, a delivery has one id, by which the receiver knows it.
  expect(new Set(received).size).toBe(1)
  expect(waits).toEqual('delay_ms' in fault.do ? [0] : [])
})

test('a delivery that never arrives is given up after three days, and every try names the fault', async () => {
  const { sandbox, shown } = await deliver({ at: 'before', do: { drop: true } })
  await sandbox.advance('4d')
  const { tries, faults, ...rest } = await shown()
  expect(rest).toEqual({ status: 'failed', received: 0 })
  expect(tries).toEqual(Array(11).fill('unreachable'))
  expect(faults).toEqual(Array(11).fill('on-the-way'))
})
