import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readStored } from '../../adapters/storage/file/stored.js'
import { cli } from '../support/cli.js'
import { Auditor } from '../support/faults/auditor.js'
import { Clients, newMarket } from '../support/faults/clients.js'
import { Fleet } from '../support/faults/fleet.js'

/** How long it runs, in seconds. */
const SECONDS = Number(process.env.FARTHING_FAULTS ?? 30)
const KILL_EVERY_MS = 500

const farthing = cli()

test(`a process on a file, killed again and again for ${SECONDS} s, loses no payment that it answered, and makes none twice`, {
  timeout: (SECONDS + 120) * 1000,
}, async () => {
  const file = join(farthing.directory, 'data.json')
  const fleet = await Fleet.start(farthing, ['--data', file], 1)
  const clients = new Clients(() => fleet.urls, await newMarket(fleet.urls[0] ?? ''))
  const auditor = new Auditor()
  const work = [clients.run(64), auditor.run(() => fleet.urls), fleet.killInTurn(KILL_EVERY_MS)]
  await Promise.race([pause(SECONDS * 1000), ...work])
  fleet.end()
  await work[2]
  clients.end()
  auditor.end()
  await Promise.all(work)

  await auditor.audit(fleet.urls[0] ?? '')
  expect(await clients.askAgain(clients.sample())).toEqual([])
  expect(await fleet.stop()).toEqual([0])
  const { rows } = (await readStored(file)).tables.state()
  const stored = (rows.payments ?? []).map(({ id }) => Number(id)).sort((a, b) => a - b)
  const answered = [...clients.paid.values()].map(({ id }) => id).sort((a, b) => a - b)
  process.stdout.write(
    `killed ${fleet.killed} times: ${answered.length} payments answered, ${clients.refused} calls refused and repeated, ` +
      `${clients.unknown.size} unknown and settled, ${auditor.audits} audits\n`,
  )
  expect(stored).toEqual(answered)
  expect(auditor.faults).toEqual([])
  expect(auditor.audits).toBeGreaterThan(0)
  expect(fleet.killed).toBeGreaterThan(1)
  expect(clients.unknown.size).toBeGreaterThan(0)
})
