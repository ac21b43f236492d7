import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { createService } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { readOpenMetrics } from '../../support/open-metrics.js'
import { newSeller } from '../../support/scenes/world.js'
import { need, pythonPackages, run } from '../support/toolchain.js'

const reader = fileURLToPath(new URL('prometheus_reader.py', import.meta.url))

it("prometheus_client 0.26.0 reads the metrics, as the tests' own reader does", async (context) => {
  const packages = await need(context, pythonPackages('prometheus', { prometheus_client: '0.26.0' }))
  const service = createService({ sandbox: true })
  const folder = await mkdtemp(join(tmpdir(), 'farthing-metrics-'))
  onTestFinished(async () => {
    await service.close()
    await rm(folder, { recursive: true })
  })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const { token } = await newSeller(call)
  await call('GET', '/nowhere')
  await service.fetch('/v4/events', { headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' } })
  await service.sandbox.ledger()
  const text = await service.sandbox.metrics()
  await writeFile(join(folder, 'metrics.txt'), text)
  const { output } = await run(['python3', reader, join(folder, 'metrics.txt')], { env: { PYTHONPATH: packages } })
  const [, result] = /^RESULT (\{.*\})/m.exec(output) ?? []
  expect(result, output).toBeDefined()
  const read: Record<string, { type: string; unit: string; samples: [string, Record<string, string>, number][] }> =
    JSON.parse(result ?? '')
  const ours = readOpenMetrics(text)
  expect(Object.keys(read)).toEqual([...ours.keys()])
  for (const [name, { type, unit, samples }] of Object.entries(read)) {
    const own = ours.get(name)
    expect([name, type, unit]).toEqual([name, own?.type, own?.unit ?? ''])
    const shown = samples.map(([sample, labels, value]) => {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`)
      return [`${sample}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''}`, value]
    })
    expect(shown).toEqual([...(own?.samples ?? [])])
  }
  expect(read.farthing_open_streams?.samples).toEqual([['farthing_open_streams', { operation: 'listEvents' }, 1]])
})
