import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Host, startHost } from '../support/browser/host.js'
import { UserAgent } from '../support/browser/user-agent.js'
import { conformanceCommand } from '../support/mcp/conformance-suite.js'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Runs all scenarios for authorization servers; `onOutput` hears all that was said so far. */
function run([command, script]: [string, string], args: string[], onOutput: (output: string) => void) {
  const child = spawn(command, [script, 'authorization', '--url', `${host.url}/v4/oidc`, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      output += piece
      onOutput(output)
    })
  return new Promise<{ code: number | null; output: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, output })),
  )
}

test('the service passes authorization-server-metadata-endpoint and authorization-code-grant', async (context) => {
  const suite = await conformanceCommand(context)
  const port = await freePort()
  const redirect = `http://127.0.0.1:${port}/callback`
  const { body: client } = await host.call('POST', '/v4/oidc/reg', {
    body: { redirect_uris: [redirect], token_endpoint_auth_method: 'none', client_name: 'Conformance' },
  })
  let opened: Promise<void> | undefined
  const { code, output } = await run(suite, ['--client-id', client.client_id, '--port', String(port)], (said) => {
    const [address] = /https?:\/\/\S+\/v4\/oidc\/auth\?\S+/.exec(said) ?? []
    if (address !== undefined && said.includes('Waiting')) opened ??= goThrough(address)
  })
  await opened
  expect(output).toMatch(/authorization-server-metadata-endpoint: \d+ passed, 0 failed/)
  expect(output).toMatch(/authorization-code-grant: \d+ passed, 0 failed/)
  expect(code, output).toBe(0)
})

/** What a person does in the browser that the tool asks to be opened. */
async function goThrough(address: string): Promise<void> {
  await fetch(await new UserAgent(host).authorize(address))
}
