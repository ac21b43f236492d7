import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { instanceIn } from '../../storage/claim.js'
import {
  type Reader,
  type State,
  type Storage,
  StorageClosed,
  StorageUnavailable,
  type Writer,
} from '../../storage/storage.js'
import { Heartbeats } from './heartbeats.js'
import {
  type Control,
  type ControlKind,
  controlRow,
  type ProcessRow,
  processes,
  processRow,
  processRows,
  readControl,
  withProcesses,
} from './process-rows.js'

/** How often a process shows that it is alive. */
const BEAT_MS = 1000
/** How long it may be silent before others consider it dead. */
const DEAD_MS = 10_000
/** How often a control looks whether all have followed, even without a hint. */
const FOLLOW_CHECK_MS = 250
/** How long a control waits for a process that is alive. Later ones follow by themselves. */
const PATIENCE_MS = 20_000
/** Before the fence of any control. */
const NOTHING = -1
const NOT_IN_STEP = 'others took this process for dead during a control, and it has not followed them yet'
const TAKEN_FOR_DEAD =
  'Other processes took this one for dead during the control, and ended it. They see what it had stored by then, and ' +
  'nothing later. Look at the sandbox, and run the control again.'

/** What a process does for the others. */
export interface SharedWork {
  /** Begins no more work. Resolves when what it has begun has ended, or takes long. */
  pause(): Promise<void>
  resume(): void
  /** Stores what other processes are to follow and nothing else has stored yet, in the transaction that ends a control. */
  store(tx: Writer): Promise<void>
  /** Takes over the clock, the key and the armed faults that are stored. */
  follow(kind: ControlKind): Promise<void>
  /** Takes over what processes that have ended were doing. */
  takeOver(): Promise<void>
}

type Member = Pick<ServiceContext, 'instance' | 'alarm' | 'random' | 'log'> & { readonly storage: Storage }

/** What one look at the storage showed. */
type Seen = { readonly rows: readonly ProcessRow[]; readonly control: Control | undefined }

/**
 * The processes that serve from one storage. Each shows by a row that it is alive, and removes the rows of dead ones. Time
 * is real here, whatever the service's clock says, and no two processes need the same time.
 *
 * A control that changes the clock or the state runs in one process at a time, while the background work of all others
 * rests. It ends when they have taken over the clock and the key. If its process is silent for long, others end it. What
 * that process writes then is refused until it has followed them.
 */
export class ProcessGroup {
  readonly #heartbeats: Heartbeats
  #others: ReadonlySet<string> = new Set()
  /** The fence of the last step of a control that this process has followed. */
  #followed = 0
  #isResting = false
  /** Whether this process runs a control, or is about to. */
  #isRunning = false
  /** The fence of the control that this process runs. If others have ended it, until this process has followed them. */
  #fence: number | undefined
  #hasLeft = false
  #looking: Promise<void> | undefined
  #isHinted = false
  #cancelBeat = () => {}
  readonly #waiting = new Set<() => void>()

  constructor(
    readonly member: Member,
    readonly work: SharedWork,
  ) {
    this.#heartbeats = new Heartbeats(member.alarm, DEAD_MS)
  }

  /** The instance names of the processes that are alive, this one first. */
  get names(): readonly string[] {
    return [this.member.instance, ...[...this.#others].sort()]
  }

  /** Shows that this process is alive, until it leaves. */
  async enter(): Promise<void> {
    const seen = await this.#beat(({ control }) => control?.fence ?? 0)
    this.#meet(seen)
    this.#followed = seen.control?.fence ?? 0
    if (seen.control?.runBy !== undefined) await this.#rest()
    this.#beatLater()
  }

  /** Whether this process has followed the last control. A process that hung for long may not have. */
  async isInStep(): Promise<boolean> {
    const control = await this.member.storage.read(readControl)
    const isInStep = (control?.fence ?? 0) === this.#followed
    if (!isInStep) this.notice()
    return isInStep
  }

  /** Some process has written its row, or that of a control. */
  notice(): void {
    this.#isHinted = true
    void this.#look(() => this.member.storage.read(readSeen))
  }

  /**
   * Runs a job that all processes follow, after those of other processes. The others rest if it moves clock or state. Throws
   * `outcome_unknown` if others have ended it meanwhile.
   */
  async together<T>(kind: ControlKind, job: () => Promise<T>): Promise<T> {
    await this.#catchUp()
    this.#isRunning = true
    try {
      const fence = await this.#take(kind)
      const [ran] = await Promise.allSettled([this.#reach(fence).then(job)])
      const isOwn = await this.#end(kind, fence)
      if (isOwn && ran.status === 'fulfilled') return ran.value
      const cause = ran.status === 'rejected' ? ran.reason : undefined
      if (isOwn) throw cause
      this.#isRunning = false
      await this.#catchUp()
      throw problem('outcome_unknown', { detail: TAKEN_FOR_DEAD, cause })
    } finally {
      this.#isRunning = false
    }
  }

  /** Throws `StorageUnavailable` if others have ended the control of this process. Ask in each transaction that writes. */
  async check(tx: Reader): Promise<void> {
    const fence = this.#fence
    if (fence === undefined) return
    const control = await readControl(tx)
    if (!this.#isOwn(control, fence) && control?.fence !== endOf(fence))
      throw new StorageUnavailable(`This process could not store anything: ${NOT_IN_STEP}.`, { reason: NOT_IN_STEP })
  }

  /** A state to import, in which the processes are those that use the storage now. */
  async withRows(state: State): Promise<State> {
    const { rows, control } = await this.member.storage.read(readSeen)
    return withProcesses(state, control ? [...rows, controlRow(control)] : rows)
  }

  /** Tells the others that this process has ended, so that they take over at once what it still held. */
  async leave(): Promise<void> {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#cancelBeat()
    this.#heartbeats.stop()
    this.#wake()
    await this.#looking
    const { id } = processRow(this.member, 0)
    await this.member.storage.write(async (tx) => tx.remove(processes, id)).catch(this.#logged('could not leave'))
  }

  /** Beats go on while this process follows a control, which may take long. */
  #beatLater(): void {
    this.#cancelBeat = this.member.alarm.set(BEAT_MS, async () => {
      const seen = await this.#beat(() => this.#followed).catch(this.#logged('could not be seen'))
      if (this.#hasLeft) return
      this.#beatLater()
      if (seen) void this.#look(async () => seen)
    })
  }

  /** Writes the row of this process, and removes those of dead ones. */
  #beat(follow: (seen: Seen) => number): Promise<Seen> {
    return this.member.storage.write(async (tx) => {
      const { rows, control } = await readSeen(tx)
      const alive = rows.filter((row) => !this.#heartbeats.isOver(row))
      for (const row of rows) if (!alive.includes(row)) tx.remove(processes, row.id)
      tx.put(processes, processRow(this.member, follow({ rows, control })))
      return { rows: alive, control }
    })
  }

  /** Looks at the others, and does what it must. Looks that come meanwhile become one. Never rejects. */
  #look(see: () => Promise<Seen>): Promise<void> {
    this.#looking ??= this.#see(see).finally(() => {
      this.#looking = undefined
      if (this.#isHinted && !this.#hasLeft) this.notice()
    })
    return this.#looking
  }

  async #see(see: () => Promise<Seen>): Promise<void> {
    this.#isHinted = false
    try {
      let seen = await see()
      this.#meet(seen)
      while (!this.#hasLeft && (await this.#followIn(seen))) {
        seen = await this.#beat(() => this.#followed)
        this.#meet(seen)
      }
    } catch (cause) {
      this.#logged('could not follow the others')(cause)
    }
    this.#wake()
  }

  /** Compares those who are there with those who were. */
  #meet({ rows }: Seen): void {
    const others = rows.filter((row) => this.#isOther(row))
    const before = this.#others
    this.#others = new Set(others.map(instanceOf))
    this.#heartbeats.record(others)
    for (const name of before)
      if (!this.#others.has(name)) {
        void this.work.takeOver().catch(this.#logged('could not take over'))
        return
      }
  }

  /** Follows the control as far as it has got. Returns whether this process has moved on. */
  async #followIn({ control }: Seen): Promise<boolean> {
    const runBy = control?.runBy
    const fence = control?.fence ?? 0
    if (this.#isRunning && (this.#fence !== undefined || runBy === this.member.instance)) return false
    if (control && runBy !== undefined && !this.#others.has(runBy)) {
      await this.#endLeft(control)
      return true
    }
    if (fence === this.#followed) return false
    // Otherwise a control before this one ended unseen, and may have changed anything.
    const isNext = fence === this.#followed + 1 || (runBy === undefined && fence === endOf(this.#followed + 1))
    // It is unknown how far an own control that others have ended had got.
    const kind = (isNext && this.#fence === undefined && control?.kind) || 'state'
    // Nothing needs to rest while faults are armed.
    if (kind !== 'faults') await this.#rest()
    if (runBy === undefined || !isNext) await this.work.follow(kind)
    if (runBy === undefined) {
      this.#fence = undefined
      if (this.#isResting) this.work.resume()
      this.#isResting = false
    }
    this.#followed = fence
    return true
  }

  async #rest(): Promise<void> {
    if (this.#isResting) return
    this.#isResting = true
    await this.work.pause()
  }

  /** Ends a control whose process has ended, or could not say so. Its fence shows the process that it was not its own end. */
  #endLeft({ kind, fence }: Control): Promise<void> {
    return this.member.storage.write(async (tx) => {
      const control = await readControl(tx)
      if (control?.runBy !== undefined && control.fence === fence)
        tx.put(processes, controlRow({ kind, runBy: undefined, fence: endOf(fence) + 1 }))
    })
  }

  /** Follows the others if they have ended the control of this process. */
  async #catchUp(): Promise<void> {
    for (let looks = PATIENCE_MS / FOLLOW_CHECK_MS; this.#fence !== undefined && looks > 0 && !this.#hasLeft; looks--) {
      await this.#look(() => this.member.storage.read(readSeen))
      if (this.#fence !== undefined) await this.#nextLook()
    }
  }

  /** Takes the control for this process. Returns its fence. */
  async #take(kind: ControlKind): Promise<number> {
    const { storage, instance } = this.member
    for (;;) {
      const fence = await storage.write(async (tx) => {
        const control = await readControl(tx)
        const last = control?.fence ?? 0
        // A look ends the control of a dead process, and takes over what an earlier one changed.
        if (control?.runBy !== undefined || last !== this.#followed) return undefined
        const next = last + 1
        tx.put(processes, controlRow({ kind, runBy: instance, fence: next }))
        tx.put(processes, processRow(this.member, next))
        return next
      })
      if (fence !== undefined) {
        this.#followed = fence
        this.#fence = fence
        return fence
      }
      await this.#look(() => storage.read(readSeen))
      await this.#nextLook()
    }
  }

  /** Returns false if others have ended it before. If this fails, the next look ends the control. */
  async #end(kind: ControlKind, fence: number): Promise<boolean> {
    const ended = endOf(fence)
    const isEnded = await this.member.storage.write(async (tx: Writer) => {
      if (!this.#isOwn(await readControl(tx), fence)) return false
      await this.work.store(tx)
      tx.put(processes, controlRow({ kind, runBy: undefined, fence: ended }))
      tx.put(processes, processRow(this.member, ended))
      return true
    })
    this.#followed = isEnded ? ended : NOTHING
    if (!isEnded) return false
    this.#fence = undefined
    await this.#reach(ended)
    return true
  }

  /** Waits until all others have followed a control to this step. */
  async #reach(fence: number): Promise<void> {
    let isLate = false
    const cancel = this.member.alarm.set(PATIENCE_MS, () => {
      isLate = true
      this.#wake()
    })
    try {
      for (;;) {
        const { rows, control } = await this.member.storage.read(readSeen)
        const others = rows.filter((row) => this.#isOther(row))
        const late = others.filter((row) => row.fence < fence && !this.#heartbeats.isOver(row))
        if (late.length === 0 || control?.fence !== fence || this.#hasLeft) return
        if (isLate) return this.member.log.error(`no answer to a control from ${late.map(instanceOf).join(', ')}`)
        this.#heartbeats.record(others)
        await this.#nextLook()
      }
    } finally {
      cancel()
    }
  }

  /** Resolves after the next look, or soon. */
  #nextLook(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel()
        this.#waiting.delete(done)
        resolve()
      }
      const cancel = this.member.alarm.set(FOLLOW_CHECK_MS, done)
      this.#waiting.add(done)
    })
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }

  #isOwn(control: Control | undefined, fence: number): boolean {
    return control?.fence === fence && control.runBy === this.member.instance
  }

  #isOther(row: ProcessRow): boolean {
    return instanceOf(row) !== this.member.instance
  }

  readonly #logged = (what: string) => (cause: unknown) => {
    if (!(cause instanceof StorageClosed)) this.member.log.error(`the process ${this.member.instance} ${what}`, cause)
  }
}

/** The fence of a control that has ended itself. */
const endOf = (fence: number): number => fence + 1
const instanceOf = ({ holder }: ProcessRow): string => instanceIn(holder)
const readSeen = async (tx: Reader): Promise<Seen> => ({ rows: await processRows(tx), control: await readControl(tx) })
