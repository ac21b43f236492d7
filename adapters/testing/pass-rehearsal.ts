import type { Service } from 'farthing'
import type { Rehearsal, RehearseOptions, RunTools } from 'farthing/rehearse'

/** Rehearses an application. Throws an Error with the report if there are findings. */
export async function passRehearsal(
  service: Service,
  run: (fork: Service, tools: RunTools) => unknown,
  options?: RehearseOptions,
): Promise<Rehearsal> {
  const { rehearse, showRehearsal } = await import('farthing/rehearse')
  const rehearsal = await rehearse(service, run, options)
  if (!rehearsal.isOk) throw new Error(showRehearsal(rehearsal))
  return rehearsal
}
