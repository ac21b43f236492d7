import type { ServiceContext } from '../../http/context.js'
import { createTwin, type TwinContext, twinByHostname } from '../../money/twins/twin.js'
import { twinNamed } from '../../money/twins/twin-address.js'
import type { Reader, Writer } from '../../storage/storage.js'

/**
 * Finds the twin with an address, or creates a stand-in for it. Nobody owns a stand-in, so it holds what it receives.
 */
export async function standIn(
  tx: Writer,
  { address, dq }: { address: string; dq: string },
  service: TwinContext & Pick<ServiceContext, 'clock'>,
): Promise<{ twinId: number; isNew: boolean }> {
  const known = await twinNamed(tx, address)
  if (known) return { twinId: known.id, isNew: false }
  const hostname = await freeHostname(tx, address, service.options.twinDomain)
  const order = { owner: `stand-in:${address}`, address, dq, hostname, at: service.clock.now() } as const
  return { twinId: (await createTwin(tx, order, service)).id, isNew: true }
}

/** A hostname with as much of the address as it takes. Addresses may begin alike, and a seed chooses any hostname. */
async function freeHostname(tx: Reader, address: string, domain: string): Promise<string> {
  const usual = `${address.slice(0, 32)}.${domain}`
  if (!(await twinByHostname(tx, usual))) return usual
  for (let more = 0; ; more++) {
    const hostname = `${address}${more === 0 ? '' : `-${more}`}.${domain}`
    if (!(await twinByHostname(tx, hostname))) return hostname
  }
}
