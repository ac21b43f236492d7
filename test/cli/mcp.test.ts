import { PassThrough } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { serve } from '../../adapters/node.js'
import { forwardMessages } from '../../sandbox/commands/mcp.js'
import { createService } from '../../src/index.js'
import { modern } from '../support/mcp/mcp.js'

/** Sends lines to a forwarder whose input then ends. Returns the messages that it answered. */
async function answersTo(source: { url: string; controlToken?: string }, messages: readonly object[]): Promise<any[]> {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const forwarding = forwardMessages({ controlToken: undefined, ...source }, { input, output }, new Promise(() => {}))
  input.end(
    messages
      .map((message) => `${JSON.stringify(Array.isArray(message) ? message : { jsonrpc: '2.0', ...message })}\n`)
      .join(''),
  )
  await forwarding
  const text = String(output.read() ?? '')
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

const toolsCall = (id: number, name: string) => ({ id, method: 'tools/call', params: { name, arguments: {} } })

it('forwards messages of both eras, answers each before it ends, and says when the sandbox is gone', async () => {
  const service = createService({ sandbox: true, controlToken: 'the-control-token' })
  onTestFinished(() => service.close())
  const served = await serve(service, { port: 0 })
  const source = { url: served.url }
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'coder', version: '1' } }
  const [begun] = await answersTo(source, [{ id: 1, method: 'initialize', params: hello }])
  expect(begun).toMatchObject({ id: 1, result: { serverInfo: { name: 'farthing-sandbox' } } })
  const both = await answersTo(source, [toolsCall(2, 'clock'), { ...modern('tools/list').message, id: 3 }])
  const answered = new Map(both.map(({ id, result }) => [id, result]))
  expect(answered.get(2).structuredContent.mode).toBe('real')
  expect(answered.get(3).tools.map(({ name }: { name: string }) => name)).toContain('last_error')
  expect(await answersTo({ ...source, controlToken: 'wrong' }, [toolsCall(4, 'clock')])).toHaveLength(1)
  expect(await answersTo(source, [[]])).toMatchObject([{ id: null, error: { code: -32700 } }])
  await served.close()
  const [gone] = await answersTo(source, [toolsCall(5, 'clock')])
  expect(gone).toMatchObject({ id: 5, error: { message: expect.stringContaining('Is it still running?') } })
})
