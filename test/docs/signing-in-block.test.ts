import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { serve } from '../../adapters/node.js'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { UserAgent } from '../support/browser/user-agent.js'
import { scratchFolder } from '../support/docs/folder.js'
import { blockTestedBy } from '../support/docs/markdown.js'

const scratch = scratchFolder()

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address ? address.port : 0
}

it('docs/guides/signing-in.md is a site that signs people in, as it is copied', async () => {
  let service: ReturnType<typeof createService> | undefined
  const served = await serve((baseUrl) => (service = createService({ baseUrl, sandbox: true })), { port: 0 })
  onTestFinished(async () => {
    await served.close()
    await service?.close()
  })
  const port = await freePort()
  const text = blockTestedBy('test/docs/signing-in-block.test.ts', 'docs/guides/signing-in.md', 'openid-client')
  const file = join(scratch(), 'sign-in.mjs')
  // Only the two addresses are of this test.
  await writeFile(file, text.replaceAll('http://127.0.0.1:4242', served.url).replaceAll('8000', String(port)))
  const site = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void site.kill('SIGKILL'))
  const [printed] = await once(site.stdout, 'data')
  expect(String(printed)).toBe(`Open http://127.0.0.1:${port}\n`)

  const visitor = await fetch(`http://127.0.0.1:${port}/`, { redirect: 'manual' })
  const call = caller({ url: served.url, fetch })
  const back = await new UserAgent({ url: served.url, call }).authorize(visitor.headers.get('location') ?? '')
  const greeted = await fetch(back)
  expect([greeted.status, await greeted.text()]).toEqual([200, 'Hello, ada@example.test!'])
  expect((await fetch(back)).status).toBe(400)
})
