import type { Explanation } from '../../../src/sandbox/explain/facts/explanation.js'
import type { Entry } from '../../../src/sandbox/onion/entry.js'
import { lineOfEntry } from '../../../src/sandbox/tools/brief.js'
import { linesOfExplanation } from '../../../src/sandbox/tools/lines.js'
import { callControls, type Outside, runningService, type ServiceFlags } from '../running-service.js'
import { idOf } from './entries.js'

export interface ExplainFlags extends ServiceFlags {
  readonly json?: boolean | undefined
}

/** Prints why a running sandbox answered a request as it did, and what fixes it. Throws `Refusal`. */
export async function explain(
  given: string,
  { json = false, ...flags }: ExplainFlags,
  outside: Outside,
): Promise<void> {
  const running = runningService(flags, outside)
  const id = await idOf(given, running)
  // JSON holds nothing undefined.
  const explanation = (await callControls(running, () => running.service.requests.explain(id))) as Explanation & {
    entry: Entry
  }
  if (json) return outside.print(JSON.stringify(explanation))
  for (const line of [lineOfEntry(explanation.entry), '', explanation.verdict, ...linesOfExplanation(explanation)])
    outside.print(line)
}
