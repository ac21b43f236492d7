import { allRows } from '../storage/page.js'
import type { Writer } from '../storage/storage.js'
import { changeRows, olderRows, withMissing } from '../storage/tables/migration.js'
import { lastTime, type MigrationStep } from './step.js'

export const consentToV2: readonly MigrationStep[] = [
  { what: 'Says that each device is active.', migrate: activateDevices },
  { what: 'Says whose limit each authentication request counts against.', migrate: nameAskers },
  { what: 'Says that each started authorization is valid, and since when each app is unused.', migrate: fillApps },
  { what: 'Says when the day or month of each spending ends.', migrate: endSpendings },
]

function activateDevices(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('devices'), (device) => withMissing(device, { change: null }))
}

function nameAskers(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('authentication_requests'), (request) =>
    withMissing(request, { asker: `user:${request.user_id}` }),
  )
}

/** The id ends with the day or month in ISO 8601, or with `all`. */
function endSpendings(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('delegate_spendings'), (spending) => {
    const [, year, month, day] = /:(\d{4})-(\d\d)(?:-(\d\d))?$/.exec(String(spending.id)) ?? []
    if (year === undefined) return spending
    const next = day === undefined ? [Number(month), 1] : [Number(month) - 1, Number(day) + 1]
    return withMissing(spending, { period_ends_at: Date.UTC(Number(year), next[0] ?? 0, next[1]) })
  })
}

async function fillApps(tx: Writer): Promise<void> {
  await changeRows(tx, olderRows('oidc_interactions'), (interaction) => withMissing(interaction, { refused: null }))
  const used = new Set<unknown>()
  for await (const { client_id } of allRows(tx, olderRows('oidc_connections'), { index: 'id', prefix: [] }))
    used.add(client_id)
  // Nobody knows when the last user left.
  const at = await lastTime(tx)
  await changeRows(tx, olderRows('oidc_clients'), (client) =>
    withMissing(client, { unused_since: used.has(client.id) ? null : (at ?? client.created_at) }),
  )
}
