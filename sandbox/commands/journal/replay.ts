import type { Replay } from '../../../src/sandbox/replay/replay.js'
import { linesOfReplay } from '../../../src/sandbox/tools/lines.js'
import { callControls, type Outside, runningService, type ServiceFlags } from '../running-service.js'
import { idOf } from './entries.js'

export interface ReplayFlags extends ServiceFlags {
  /** Default: `fork`. */
  readonly in?: 'fork' | 'place' | undefined
  readonly diff?: boolean | undefined
  readonly strict?: boolean | undefined
  readonly json?: boolean | undefined
}

/**
 * Sends a request of a running sandbox again, and prints what came of it. With `diff`, the exit code is 1 if the answers or
 * their effects differ. Throws `Refusal`.
 */
export async function replay(given: string, flags: ReplayFlags, outside: Outside): Promise<void> {
  const { in: place = 'fork', strict = false, diff = strict, json = false } = flags
  const running = runningService(flags, outside)
  const id = await idOf(given, running)
  const order = { in: place, diff, strict }
  // JSON holds nothing undefined.
  const replayed = (await callControls(running, () => running.service.requests.replay(id, order))) as Replay
  if (json) outside.print(JSON.stringify(replayed))
  else for (const line of [`${id} again, as ${replayed.entry.id}.`, ...linesOfReplay(replayed)]) outside.print(line)
  if (diff && ((replayed.diff ?? []).length > 0 || !replayed.effects.same)) process.exitCode = 1
}
