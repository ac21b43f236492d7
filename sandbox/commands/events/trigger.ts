import { isRefusal } from '../../../adapters/client.js'
import { suggestName } from '../../../src/base/text/nearest-name.js'
import { eventTypes } from '../../../src/jobs/events/event-types.js'
import { Refusal } from '../../refusal.js'
import type { Outside } from '../running-service.js'
import { type AccountFlags, connect } from './connect.js'
import { triggers, World } from './triggers.js'

/** Makes an event happen in a running sandbox, and prints the events of the account that it caused. Throws `Refusal`. */
export async function trigger(type: string, flags: AccountFlags, outside: Outside): Promise<void> {
  const run = triggers[type]
  if (!run && !/^client(\.[a-z0-9_-]+)+$/.test(type)) throw unknownTrigger(type)
  const connected = await connect(flags, outside)
  const { account, url } = connected
  const [newest] = (await account.events.list({ limit: 1 })).events
  try {
    await (run ? run(new World(connected)) : account.events.create({ type }))
  } catch (error) {
    if (!isRefusal(error)) throw error
    throw new Refusal(`${url} refused ${error.operation}: ${error.message}`, { cause: error })
  }
  const caused = (await account.events.list({ limit: 100 })).events.filter(({ id }) => id > (newest?.id ?? 0)).reverse()
  for (const event of caused) outside.print([`#${event.id}`, event.type, event.subject].filter(Boolean).join(' '))
  if (!caused.some((event) => event.type === type)) throw new Refusal(`${type} did not happen at ${url}`)
}

function unknownTrigger(type: string): Refusal {
  const known = Object.keys(triggers)
  const what = type in eventTypes ? `"${type}" cannot be triggered.` : `"${type}" is not a type of event.`
  return new Refusal(`${what}${suggestName(type, known)} Known: ${known.join(', ')} and client.ANYTHING`)
}
