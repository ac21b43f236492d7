import type { Call } from '../api.js'
import { acceptedBy, built, merged, newCallers, sampleOf, withBody } from '../contract/refusals.js'
import { registerDevice } from '../scenes/second-factor.js'
import { newReader, newSeller } from '../scenes/world.js'

/** Calls every operation as it refuses: without credentials, for what does not exist, and with a wrong field. */
export async function refusedCalls(call: Call): Promise<void> {
  const callers = await newCallers(call)
  for (const { route, absent } of built.filter(refusesAsOthers)) {
    const known = merged(sampleOf(route), acceptedBy(route, callers))
    await call(route.method, absent, sampleOf(route))
    if (route.path.includes(':') || route.query) await call(route.method, absent, known)
  }
  for (const { route, absent } of withBody.filter(refusesAsOthers))
    await call(route.method, absent, merged({ body: { unknown_field: [] } }, acceptedBy(route, callers)))
}

/** Anybody may call this server, so its refusals are messages of JSON-RPC. */
const refusesAsOthers = ({ route }: (typeof built)[number]): boolean => route.id !== 'callSandboxMcp'

/** Calls that succeed and that the tour leaves out, because they show no fields. */
export async function callsWithoutFields(call: Call): Promise<void> {
  const { token, hostname } = await newReader(call, await newSeller(call), { email: 'maria@example.test', balance: 1 })
  await call('GET', `/v4/twin/${hostname}/binder`, { token, headers: { accept: 'text/csv' } })
  const device = await registerDevice(call, { token })
  await call('DELETE', `/v4/notifications/registrations/${device}`, { token })
  for (const accept of ['application/json', 'text/markdown'])
    await call('GET', '/docs/errors/nonce_used', { headers: { accept } })
}
