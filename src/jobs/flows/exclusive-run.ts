import type { ServiceContext } from '../../http/context.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type FlowClaims, isOngoing } from './takeover.js'

/** How often a run shows that its process lives, and how long it may be silent before others consider it dead. */
const BEAT_MS = 1000
const DEAD_MS = 10_000
/** How often to check the run of a different process. */
const CHECK_MS = 1000

/**
 * Runs a flow that claims the row which `look` returns, once no other run holds it. It waits while another run is in
 * progress, here or in another process, and takes over from one whose process is dead. `run` returns undefined if another
 * was faster. Returns undefined if one takes longer than any run may, or if the service closes. Time is real here,
 * whatever the service's clock says.
 */
export async function runExclusively<Row, Answer>(
  claims: FlowClaims<Row>,
  { look, run }: { look(tx: Reader): Promise<Row>; run(): Promise<Answer | undefined> },
  service: ServiceContext,
): Promise<Answer | undefined> {
  const { storage, background, alarm } = service
  const signOf = (row: Row) => `${claims.tokenOf(row)} ${claims.beatOf?.(row)}`
  let seen: { readonly token: string | null; readonly sign: string } | undefined
  let [silence, whole] = [NEVER, NEVER]
  try {
    for (;;) {
      const { value: row, changed } = await background.watch({ ms: CHECK_MS }, look)
      const [token, sign] = [claims.tokenOf(row), signOf(row)]
      const longest = claims.longestMs(service)
      if (token !== seen?.token) whole = restart(whole, longest)
      // Older versions do not beat.
      if (sign !== seen?.sign) silence = restart(silence, claims.beatOf?.(row) === undefined ? longest : DEAD_MS)
      seen = { token, sign }
      const isDead = token !== null && !isOngoing(token, service) && (storage.exclusive || silence.isOver)
      if (isDead) await storage.write((tx) => endSame(tx, sign))
      else if (token !== null && whole.isOver) return undefined
      const answer = token === null || isDead ? await run() : undefined
      if (answer !== undefined) return answer
      if (!(await changed)) return undefined
    }
  } finally {
    for (const { stop } of [silence, whole]) stop()
  }

  function restart(before: Wait, ms: number): Wait {
    before.stop()
    const wait: Wait = { isOver: false, stop: alarm.set(ms, () => Object.assign(wait, { isOver: true })) }
    return wait
  }

  /** Ends the claim that was seen, unless its run has shown that it lives since. */
  async function endSame(tx: Writer, sign: string): Promise<void> {
    const row = await look(tx)
    if (signOf(row) === sign) await claims.end(tx, row, service)
  }
}

interface Wait {
  readonly isOver: boolean
  stop(): void
}

const NEVER: Wait = { isOver: false, stop: () => {} }

/** Shows other processes that a run is alive, until it ends. */
export async function heartbeatWhile<T>(
  running: Promise<T>,
  beat: (tx: Writer) => Promise<void>,
  { alarm, storage, log }: ServiceContext,
): Promise<T> {
  let isOver = storage.exclusive
  let stop = () => {}
  const failed = (cause: unknown) => log.error('a run cannot show that it is alive', cause)
  const next = () => {
    if (!isOver) stop = alarm.set(BEAT_MS, () => void storage.write(beat).catch(failed).finally(next))
  }
  next()
  return running.finally(() => {
    isOver = true
    stop()
  })
}
