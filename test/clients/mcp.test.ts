import { auth, createMCPClient, UnauthorizedError as NotAuthorized } from '@ai-sdk/mcp'
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AppCredentials, contentOf, goShopping, openShop, type Shop } from './support/shopping.js'

/** Each client discovers the authorization server, registers, has its user sign in and consent, and shops. */

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

test.each(['2025-11-25', '2026-07-28'] as const)('@modelcontextprotocol/client shops in the era %s', async (era) => {
  const credentials = new AppCredentials()
  const newClient = async () => {
    const options = era === '2026-07-28' ? { versionNegotiation: { mode: { pin: era } } } : {}
    const client = new Client({ name: 'errand-runner', version: '1.0.0' }, options)
    const transport = new StreamableHTTPClientTransport(new URL(shop.mcp), { authProvider: credentials })
    return { client, transport, connected: client.connect(transport) }
  }
  const first = await newClient()
  await expect(first.connected).rejects.toThrow(UnauthorizedError)
  await first.transport.finishAuth(await credentials.comesBack(shop))
  const { client, connected } = await newClient()
  await connected
  expect(client.getNegotiatedProtocolVersion()).toBe(era)
  await goShopping(shop, {
    listTools: async () => (await client.listTools()).tools,
    call: async (name, args) => contentOf(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  })
})

test('@ai-sdk/mcp shops', async () => {
  const authProvider = new AppCredentials()
  const transport = { type: 'http', url: shop.mcp, authProvider } as const
  await expect(createMCPClient({ transport })).rejects.toThrow(NotAuthorized)
  const back = await authProvider.comesBack(shop)
  const code = { authorizationCode: back.get('code') ?? '', callbackIssuer: back.get('iss') ?? '' }
  expect(await auth(authProvider, { serverUrl: shop.mcp, ...code })).toBe('AUTHORIZED')
  const client = await createMCPClient({ transport })
  expect(client.initializeResult.protocolVersion).toBe('2026-07-28')
  const tools = await client.tools()
  await goShopping(shop, {
    listTools: async () => Object.keys(tools).map((name) => ({ name })),
    call: async (name, args) =>
      contentOf(await tools[name]?.execute(args, { toolCallId: '1', messages: [], context: undefined })),
    close: () => client.close(),
  })
})
