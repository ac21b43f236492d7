import type { ServiceContext } from '../../http/context.js'
import { isHeld } from '../../storage/claim.js'
import type { Reader } from '../../storage/storage.js'
import type { FlowClaims } from './takeover.js'

/** How often to check whether the process of another run is alive. */
const CHECK_MS = 1000

/**
 * Runs a flow that claims the row which `look` returns, once no other run holds it. It waits while another run is in
 * progress, here or in another process, and ends the claim of one whose process is dead. `run` returns undefined if another
 * was faster. Returns undefined if one takes longer than any run may, or if the service closes. Time is real here,
 * whatever the service's clock says.
 */
export async function runExclusively<Row, Answer>(
  { tokenOf, longestMs, end }: FlowClaims<Row>,
  { look, run }: { look(tx: Reader): Promise<Row>; run(): Promise<Answer | undefined> },
  service: ServiceContext,
): Promise<Answer | undefined> {
  const { storage, background, alarm } = service
  const read = async (tx: Reader) => {
    const row = await look(tx)
    return { row, token: tokenOf(row), held: await isHeld(tx, tokenOf(row), service) }
  }
  const wait = { token: undefined as string | null | undefined, isOver: false, stop: () => {} }
  try {
    for (;;) {
      const { value, changed } = await background.watch({ ms: CHECK_MS }, read)
      const { token, held } = value
      if (held && token !== wait.token) {
        wait.stop()
        Object.assign(wait, { token, isOver: false })
        wait.stop = alarm.set(longestMs(service), () => Object.assign(wait, { isOver: true }))
      }
      if (held && wait.isOver) return undefined
      if (!held && token !== null)
        await storage.write(async (tx) => {
          const now = await read(tx)
          if (now.token === token && !now.held) await end(tx, now.row, service)
        })
      const answer = held ? undefined : await run()
      if (answer !== undefined) return answer
      if (!(await changed)) return undefined
    }
  } finally {
    wait.stop()
  }
}
