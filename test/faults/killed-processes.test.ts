import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { messageOf } from '../../src/storage/unknown.js'
import { cli } from '../support/cli.js'
import { Auditor } from '../support/faults/auditor.js'
import { Clients, newMarket } from '../support/faults/clients.js'
import { Fleet } from '../support/faults/fleet.js'
import { type PostgresServer, startPostgres } from '../support/storage/postgres-server.js'

/** How long it runs, in seconds. */
const SECONDS = Number(process.env.FARTHING_FAULTS ?? 30)
const KILL_EVERY_MS = 3000
const RESTARTS = 2

const farthing = cli()

/** Reads the tables themselves: what all processes have stored. */
class Witness {
  /** How many times the sum of all balances was read. */
  sums = 0
  /** Sums other than zero: what a twin has, its issuer owes. */
  readonly wrong: string[] = []
  readonly #sql: postgres.Sql
  #ended = false

  constructor(url: string) {
    this.#sql = postgres(url, { max: 1, fetch_types: false, prepare: false, backoff: () => 0.1, onnotice: () => {} })
  }

  end(): void {
    this.#ended = true
  }

  close(): Promise<void> {
    return this.#sql.end({ timeout: 1 })
  }

  async run(): Promise<void> {
    while (!this.#ended) {
      await this.#readSum().catch(() => {})
      await pause(50)
    }
  }

  async #readSum(): Promise<void> {
    const [found] = await this.#sql.unsafe(`select sum((row->>'amount')::numeric)::text as sum from farthing.balances`)
    this.sums++
    if (found?.sum !== '0') this.wrong.push(String(found?.sum))
  }

  async payments(): Promise<readonly number[]> {
    const rows = await this.#sql.unsafe(`select (row->>'id')::int as id from farthing.payments order by 1`)
    return rows.map(({ id }) => Number(id))
  }
}

test(`three processes on one database, one killed every 3 s for ${SECONDS} s, lose no payment that they answered, and make none twice`, {
  timeout: (SECONDS + 180) * 1000,
}, async (context) => {
  let server: PostgresServer
  try {
    server = await startPostgres()
  } catch (error) {
    return context.skip(`not run: ${messageOf(error)}`)
  }
  try {
    const fleet = await Fleet.start(farthing, ['--database', server.url], 3)
    const clients = new Clients(() => fleet.urls, await newMarket(fleet.urls[0] ?? ''))
    const auditor = new Auditor()
    const witness = new Witness(server.url)
    const killing = fleet.killInTurn(KILL_EVERY_MS)
    const work = [clients.run(64), auditor.run(() => fleet.urls), witness.run(), killing]
    for (let part = 0; part <= RESTARTS; part++) {
      await Promise.race([pause((SECONDS * 1000) / (RESTARTS + 1)), ...work])
      if (part < RESTARTS) await server.restart()
    }
    fleet.end()
    await killing
    clients.end()
    for (const each of [auditor, witness]) each.end()
    await Promise.all(work)

    for (const url of fleet.urls) await auditor.audit(url)
    const stored = await witness.payments()
    const answered = [...clients.paid.values()].map(({ id }) => id).sort((a, b) => a - b)
    process.stdout.write(
      `killed ${fleet.killed} times, database restarted ${RESTARTS} times: ${answered.length} payments answered, ` +
        `${clients.refused} calls refused and repeated, ${clients.unknown.size} unknown and settled, ` +
        `${witness.sums} sums and ${auditor.audits} audits read\n`,
    )
    expect(stored).toEqual(answered)
    expect(await clients.askAgain(clients.sample())).toEqual([])
    expect(await witness.payments()).toEqual(answered)
    expect([witness.wrong, auditor.faults]).toEqual([[], []])
    expect(Math.min(witness.sums, auditor.audits)).toBeGreaterThan(2)
    expect(fleet.killed).toBeGreaterThan(1)
    expect(clients.unknown.size).toBeGreaterThan(0)
    expect(await fleet.stop()).toEqual([0, 0, 0])
  } finally {
    await server.stop()
  }
})
