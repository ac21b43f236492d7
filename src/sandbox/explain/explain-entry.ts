import type { ServiceContext } from '../../http/context.js'
import { StateForgotten } from '../../storage/history/history.js'
import type { Reader } from '../../storage/storage.js'
import { sandboxOf } from '../onion/context.js'
import type { Entry } from '../onion/entry.js'
import { explainAnswer } from './explain.js'
import type { Explanation, FactsByName } from './facts/explanation.js'

/** An entry of the journal. `after`: the last commit when it ended. Undefined while it runs. */
export interface ExplainedEntry extends Entry {
  /** The digest of the token in its path. */
  readonly tokenDigest?: string
  /** The delegate that its path or a field names. */
  readonly delegate?: string | undefined
  /** What was thrown. */
  readonly facts?: FactsByName
  readonly after: number | undefined
}

/** Explains an entry from the state right after it, or from the present state if the history forgot that one. */
export async function explainEntry(
  entry: ExplainedEntry,
  {
    findEarlier,
    service,
  }: { findEarlier(fits: (entry: Entry) => boolean): Entry | undefined; service: ServiceContext },
): Promise<Explanation> {
  const { storage } = service
  const { history, loadRoutes } = sandboxOf(service)
  const operations = await loadRoutes()
  const from = (tx: Reader) =>
    explainAnswer({
      entry,
      tx,
      service: { ...service, ...service.options },
      operations,
      findEarlier: async (fits) => findEarlier(fits),
    })
  const { after } = entry
  if (!history || after === undefined) return ofNow(await storage.read(from))
  try {
    return await history.readAt(after, from)
  } catch (error) {
    if (error instanceof StateForgotten) return ofNow(await storage.read(from))
    throw error
  }
}

/** Says that the facts are not those of the moment. */
const ofNow = (explanation: Explanation): Explanation => ({
  ...explanation,
  sentences: [...explanation.sentences, 'The state of that moment is not kept any more, so these facts are of now.'],
  facts: { ...explanation.facts, of: 'now' },
})
