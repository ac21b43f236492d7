import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import * as expressShop from '@x402/express'
import * as honoShop from '@x402/hono'
import express from 'express'
import { Hono } from 'hono'

/** Shops of others, unmodified. Each sells /report for a cent of USDC, and settles at a facilitator. */

export interface RunningShop {
  readonly url: string
  /** How often it delivered what it sells. */
  delivered(): number
  close(): Promise<void>
}

export interface ShopOptions {
  /** The address of the sandbox. */
  readonly sandbox: string
  readonly payTo: string
}

const NETWORK = 'eip155:84532'
export const REPORT = { report: 'The weather stays as it is.' }

const sold = (payTo: string) => ({
  'GET /report': {
    accepts: { scheme: 'exact', price: '$0.01', network: NETWORK, payTo },
    description: 'A report',
    mimeType: 'application/json',
  },
})

const facilitatorOf = ({ sandbox }: ShopOptions) => new HTTPFacilitatorClient({ url: `${sandbox}/x402` })

export async function startHonoShop(options: ShopOptions): Promise<RunningShop> {
  const server = new honoShop.x402ResourceServer(facilitatorOf(options)).register(NETWORK, new ExactEvmScheme())
  const app = new Hono()
  let delivered = 0
  app.use(honoShop.paymentMiddleware(sold(options.payTo) as never, server))
  app.get('/report', (context) => {
    delivered++
    return context.json(REPORT)
  })
  return listen(
    serveFetch((request) => app.fetch(request)),
    () => delivered,
  )
}

/** Serves a fetch handler. */
export function serveFetch(handle: (request: Request) => Response | Promise<Response>): Server {
  return createServer(async ({ method = 'GET', url, headers }, response) => {
    const sent = Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((each) => [name, each]))
    const request = new Request(`http://${headers.host}${url}`, { method, headers: sent as [string, string][] })
    const answered = await handle(request)
    response.writeHead(answered.status, Object.fromEntries(answered.headers))
    response.end(Buffer.from(await answered.arrayBuffer()))
  })
}

export async function startExpressShop(options: ShopOptions): Promise<RunningShop> {
  const server = new expressShop.x402ResourceServer(facilitatorOf(options)).register(NETWORK, new ExactEvmScheme())
  const app = express()
  let delivered = 0
  app.use(expressShop.paymentMiddleware(sold(options.payTo) as never, server))
  app.get('/report', (_request, response) => {
    delivered++
    response.json(REPORT)
  })
  return listen(createServer(app), () => delivered)
}

export async function listen(server: Server, delivered: () => number): Promise<RunningShop> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    delivered,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
