import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService, type Service, type ServiceOptions } from '../../../src/index.js'
import type { Storage } from '../../../src/storage/storage.js'
import { caller } from '../api.js'
import { newAgentShop } from '../scenes/approvals.js'
import { countingStorage } from '../storage/counting-storage.js'
import { connect, type Era } from './mcp.js'

/** A shop in this process whose endpoints answer at once, and the official client of its user's agent. */
export async function newMcpShop(fields: object = {}, options: Pick<ServiceOptions, 'alarm'> = {}) {
  const asked: { url: string; body: string | null }[] = []
  const upstream = {
    async fetch({ url, body }: { url: string; body: string | null }) {
      asked.push({ url, body })
      if (url.includes('/down')) return new Response('no', { status: 503 })
      return Response.json({ story: url.includes('/hidden') ? 'The\u202E whole.' : 'The whole story.' })
    },
  }
  const count = countingStorage(memoryStorage())
  const storage: Storage = count
  const failures: unknown[] = []
  const log = { error: (...failure: unknown[]) => failures.push(failure) }
  const service: Service = createService({ ...options, storage, upstream, sandbox: true, log })
  const running = {
    url: service.baseUrl,
    fetch: (request: Request) => service.fetch(request),
    state: () => storage.export(),
    close: () => service.close(),
  }
  const shop = await newAgentShop(async () => ({ ...running, call: caller(running) }), fields)
  const client = (era: Era, options: Partial<Parameters<typeof connect>[1]> = {}) =>
    connect(running, { token: shop.agent.token, era, ...options })
  return { ...shop, service, count, asked, failures, client, own: `/mcp/${shop.seller.id}` }
}

export type McpShop = Awaited<ReturnType<typeof newMcpShop>>
