import type { ServiceContext } from '../../http/context.js'
import { StateForgotten } from '../../storage/history/history.js'
import type { Reader } from '../../storage/storage.js'
import { sandboxOf } from '../onion/context.js'
import type { Entry } from '../onion/entry.js'
import { explainAnswer } from './explain.js'
import type { Explanation } from './facts/explanation.js'
import type { WholeEntry } from './facts/refused-request.js'

/** An entry of the journal. `after`: the last commit when it ended. Undefined while it runs. */
export interface ExplainedEntry extends WholeEntry {
  readonly after: number | undefined
}

interface Around {
  findEarlier(fits: (entry: Entry) => boolean): Entry | undefined
  readonly service: ServiceContext
}

/** Explains an entry from the state right after it, or from the present state if the history forgot that one. */
export async function explainEntry(entry: ExplainedEntry, around: Around): Promise<Explanation> {
  const service = { ...around.service, ...around.service.options }
  const { history, loadRoutes } = sandboxOf(around.service)
  const operations = await loadRoutes()
  const findEarlier = async (fits: (entry: Entry) => boolean) => around.findEarlier(fits)
  const from = (tx: Reader) => explainAnswer({ entry, tx, service, operations, findEarlier })
  try {
    if (history && entry.after !== undefined) return await history.readAt(entry.after, from)
  } catch (error) {
    if (!(error instanceof StateForgotten)) throw error
  }
  const { sentences, facts, ...rest } = await service.storage.read(from)
  const ofNow = 'The state of that moment is not kept any more, so these facts are of now.'
  return { ...rest, sentences: [...sentences, ofNow], facts: { ...facts, of: 'now' } }
}
