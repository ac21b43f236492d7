import { digest } from '../base/secrets.js'
import type { Writer } from '../storage/storage.js'
import { olderRows } from '../storage/tables/migration.js'
import type { MigrationStep } from './step.js'

export const sandboxToV2: readonly MigrationStep[] = [
  { what: 'Moves the key of the state to a collection of its own.', migrate: moveKey },
]

const settings = olderRows('settings')
const serviceKeys = olderRows('service_keys')

async function moveKey(tx: Writer): Promise<void> {
  const stored = await tx.get(settings, 'key')
  if (!stored) return
  tx.remove(settings, 'key')
  const { value } = (await tx.get(serviceKeys, 'key')) ?? stored
  tx.put(serviceKeys, { id: 'key', value })
  if (!(await tx.get(settings, 'key_digest'))) tx.put(settings, { id: 'key_digest', value: digest(String(value)) })
}
