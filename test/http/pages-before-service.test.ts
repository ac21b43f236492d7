import { expect, onTestFinished, test, vi } from 'vitest'
import { sandboxPages } from '../../sandbox/pages/pages.js'
import { demo } from '../../sandbox/seed/demo.js'
import { createService } from '../../src/index.js'

test('a request for the service passes the pages of the sandbox before it without parsing its URL', async () => {
  const service = createService({ sandbox: true, baseUrl: 'http://127.0.0.1:4242' })
  onTestFinished(() => service.close())
  const pages = sandboxPages({ service, demo })
  const request = new Request('http://127.0.0.1:4242/v4/dq')
  await pages.respond(request)
  const parsed = vi.spyOn(globalThis, 'URL')
  onTestFinished(() => parsed.mockRestore())
  expect((await pages.respond(request)).status).toBe(200)
  expect(parsed).not.toHaveBeenCalled()
})
