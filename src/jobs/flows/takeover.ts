import type { ServiceContext } from '../../http/context.js'
import { type Claimant, isHeld } from '../../storage/claim.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { setTimer, type TimerJob } from '../schedule/timer.js'

/** The rows that runs of flows claim in one collection, and how a claim is taken over. */
export interface FlowClaims<Row> {
  /** Kind of the timer that takes a claim over. The claiming transaction sets it. */
  readonly timer: string
  /** How long a run may take, in milliseconds. */
  longestMs(service: Pick<ServiceContext, 'limits'>): number
  /** Returns the row that the subject of a timer names. Undefined: its claim has ended. */
  find(tx: Reader, subject: string): Promise<Row | undefined>
  /** Every row with a claim. */
  all(tx: Reader): AsyncIterable<Row>
  /** The token of the run. Null: nobody claims the row. */
  tokenOf(row: Row): string | null
  claimedAt(tx: Reader, row: Row): Promise<number>
  /** Ends a claim. If its run continues after all, it finds its token gone. */
  end(tx: Writer, row: Row, service: ServiceContext): Promise<unknown>
}

/** The shortest time between two looks at a claim. */
const GRACE_MS = 30_000

/** Takes over a claim whose time is over, unless its run is in progress here. */
export const takeOverLate =
  <Row>({ timer: kind, find, tokenOf, claimedAt, end }: FlowClaims<Row>): TimerJob =>
  async (tx, subject, service) => {
    const row = await find(tx, subject)
    if (row === undefined) return
    if (!service.ongoing.has(tokenOf(row) ?? '')) return void (await end(tx, row, service))
    // A sandbox's clock may have jumped while the run is in progress. Waiting that long again keeps looks rare.
    const now = service.clock.now()
    await setTimer(tx, { kind, subject, at: now + Math.max(GRACE_MS, now - (await claimedAt(tx, row))), now })
  }

/** Takes over every claim that nobody holds, as far as `claimant` knows. */
export async function takeOverAll<Row>(
  tx: Writer,
  { all, tokenOf, end }: FlowClaims<Row>,
  { service, claimant }: { readonly service: ServiceContext; readonly claimant: Claimant },
) {
  for await (const row of all(tx))
    if (tokenOf(row) !== null && !(await isHeld(tx, tokenOf(row), claimant))) await end(tx, row, service)
}
