import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { bundle } from '../support/browser/bundle.js'

test('the worker is hardly larger than its service', async () => {
  const gzipped = async (path: string) => gzipSync(await bundle(path, 'iife')).byteLength
  // A worker with the service and nothing to show.
  const service = await gzipped('support/worker-site/worker.ts')
  expect((await gzipped('../sandbox/demo/worker.ts')) - service).toBeLessThan(3500)
})
