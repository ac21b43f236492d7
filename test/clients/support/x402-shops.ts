import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
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

interface ShopOptions {
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
    createServer((request, response) => void answer(app, request, response)),
    () => delivered,
  )
}

/** Serves a fetch handler. */
async function answer(
  app: Hono,
  { method, url, headers }: Parameters<Parameters<typeof createServer>[1] & object>[0],
  response: Parameters<Parameters<typeof createServer>[1] & object>[1],
): Promise<void> {
  const sent = Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((each) => [name, each]))
  const answered = await app.fetch(
    new Request(`http://${headers.host}${url}`, { method: method ?? 'GET', headers: sent as [string, string][] }),
  )
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  if (answered.body) Readable.fromWeb(answered.body as never).pipe(response)
  else response.end()
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

async function listen(server: Server, delivered: () => number): Promise<RunningShop> {
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
