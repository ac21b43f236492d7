import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { messageOf } from '../../../src/storage/unknown.js'
import { type PostgresServer, startPostgres } from './postgres-server.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address that `sharedPostgres` asks. */
    postgresHost: string
  }
}

/**
 * One PostgreSQL for all test files: that of `DATABASE_URL`, or else one that starts on first use. A run without tests
 * that need it starts none.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let started: Promise<PostgresServer> | undefined
  const given = process.env.DATABASE_URL
  const host = createServer(async (_, response) => {
    try {
      response.end(given ?? (await (started ??= startPostgres())).url)
    } catch (error) {
      response.writeHead(503).end(messageOf(error))
    }
  })
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  project.provide('postgresHost', `http://127.0.0.1:${(host.address() as AddressInfo).port}`)
  return async () => {
    host.closeAllConnections()
    await new Promise((resolve) => host.close(resolve))
    await started?.then((server) => server.stop()).catch(() => {})
  }
}
