import { problem } from '../../../base/problem.js'
import type { ServiceContext } from '../../../http/context.js'
import { StateForgotten } from '../../../storage/history/history.js'
import { sandboxOf } from '../../onion/context.js'
import { begin } from '../bootstrap.js'

/**
 * Returns to a named snapshot, or to the state after a request, with its clock and key. Throws `not_found`, and
 * `rewind_refused` if the storage or the history does not allow it; then nothing has changed.
 */
export async function rewindSandbox(to: string, service: ServiceContext): Promise<void> {
  const { storage, background } = service
  const sandbox = sandboxOf(service)
  if (storage.isShared)
    throw problem('rewind_refused', {
      detail: 'Other processes use this storage. Work in a fork instead.',
      facts: { shared: true },
    })
  const goBack = wayBack(to, service)
  // Until the clock is that of the former state, its waits would look as if they lay ahead.
  await background.rest(async () => {
    await goBack()
    sandbox.handedApprovals.clear()
    // The calls that the former state shows as running are not running here.
    await begin(service, true)
  }, 'state')
  background.wake()
}

/** Finds where to go back to. Throws `not_found`, `rewind_refused`. */
function wayBack(to: string, service: ServiceContext): () => Promise<void> {
  const { storage } = service
  const { snapshots, history, commitOfEntry } = sandboxOf(service)
  const snapshot = snapshots.get(to)
  if (snapshot)
    return async () => {
      await storage.import(await snapshot.storage.export(), { keepsNumbers: true })
    }
  const commit = commitOfEntry(to)
  if (commit === undefined || !history)
    throw problem('not_found', { detail: `No snapshot and no request in the journal is ${JSON.stringify(to)}.` })
  if (!storage.exclusive && !storage.countCommits)
    throw problem('rewind_refused', {
      detail:
        'Others may have written to this storage since that request, and it does not tell. Save a named snapshot with POST /_sandbox/snapshots, and rewind to its name.',
    })
  return () =>
    history.rewindTo(commit).catch((cause: unknown) => {
      if (!(cause instanceof StateForgotten)) throw cause
      throw problem('rewind_refused', { detail: storage.exclusive ? FORGOTTEN : FORGOTTEN_OR_OTHERS, cause })
    })
}

const FORGOTTEN = 'The sandbox no longer has the state after this request. Choose a later one, or a named snapshot.'
const FORGOTTEN_OR_OTHERS =
  'Another tab has written since this request, or the sandbox no longer has the state after it. Choose a later one, or a named snapshot.'
