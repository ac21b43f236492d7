import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { VERSION } from '../../base/version.js'
import type { ShownApproval } from '../../consent/approvals/approval.js'
import type { PhoneMode } from '../../consent/second-factor/phone.js'
import type { ServiceContext } from '../../http/context.js'
import { type TestValues, testValuesOf } from '../../money/cards/test-values.js'
import type { Audit } from '../../money/ledger/audit.js'
import type { State, Storage } from '../../storage/storage.js'
import { answerApproval } from './approval.js'
import { approvalQueue } from './approvals.js'
import { begin, reset } from './bootstrap.js'
import { durationMs } from './clock.js'
import { sandboxOf } from './context.js'
import { emptyInbox, type InboxQuery, readInbox } from './inbox.js'
import { rotateOidcKeys } from './keys.js'
import { answerOnPhone, readPhone, setPhone } from './phone.js'
import { type Credentials, knownCredentials } from './seed/credentials.js'
import { fund } from './seed/fund.js'
import { plantSeed, type Seeded } from './seed/seed.js'
import type { Seed } from './seed/seed-schema.js'
import { keepClock, keptKey, withKey, withoutKey } from './settings.js'
import { auditLedger, checkSnapshot, rehearseRestore } from './snapshot.js'

/** What moves a sandbox's clock; one of the three. Times are Unix seconds or ISO 8601. */
export interface ClockChange {
  /** `90s`, `15m`, `1h30m`, `2d`, or seconds; negative goes back. */
  readonly advance?: string | number | undefined
  /** Unix milliseconds. */
  readonly set?: number | undefined
  readonly mode?: 'real' | 'manual' | undefined
}

/** The controls of a sandbox, as methods: what `/_sandbox` does over HTTP. */
export interface Sandbox {
  health(): { ok: true; name: string; version: string; storage: string; clock: ShownClock; evidence: string }
  /** Back to the seed. */
  reset(): Promise<void>
  /** Makes everything the seed names, or nothing; answers with all credentials. */
  seed(seed: Seed): Promise<Seeded>
  /** What of the seed's credentials works. */
  credentials(): Promise<Credentials>
  /**
   * The whole state as one JSON document, which any other sandbox can `restore`, whatever its storage.
   * It holds the sandbox's key, which opens the secrets in it, unless `key` is false.
   */
  snapshot(options?: { key?: boolean | undefined }): Promise<State>
  /** Puts a snapshot in the place of everything, its time and, where it holds one, its key included. Throws `snapshot_invalid`, `snapshot_refused`. */
  restore(snapshot: State): Promise<void>
  /** Issues value to a twin. */
  fund(order: { hostname: string; amount: number; dq?: string | undefined }): ReturnType<typeof fund>
  clock(): ShownClock
  setClock(change: ClockChange): Promise<ShownClock>
  /** Moves the clock on: `await sandbox.advance('1h')`. */
  advance(duration: string | number): Promise<ShownClock>
  /** Messages that left, newest first, with the codes and links in them. */
  outbox(query?: InboxQuery): ReturnType<typeof readInbox>
  emptyOutbox(): Promise<void>
  /** The phone of a user: `await sandbox.phone(user.id).answer('approve', { afterSeconds: 5 })`. */
  phone(userId: number): Phone
  /** Answers an approval that an agent asked for, as its user. Throws `not_found`, `not_pending`. */
  approve(approvalId: string): Promise<ShownApproval>
  reject(approvalId: string): Promise<ShownApproval>
  /** What agents ask for, in order: `await sandbox.approvals.next().approve()`. */
  readonly approvals: ReturnType<typeof approvalQueue>
  /** Has a new key sign OIDC tokens; the old one stays published for a day. Gives the ids of all, the new one first. */
  rotateKeys(): ReturnType<typeof rotateOidcKeys>
  /** What makes a sandbox behave in a certain way: payment methods, and forms of email addresses. */
  readonly testValues: TestValues
  /** Checks every rule of the ledger. */
  ledger(): Promise<Audit>
}

/** A user's phone, as the sandbox plays it. Each throws `not_found` for nobody's. */
export interface Phone {
  /** How it answers pushes that arrive from now on; `manual`, which it begins with, waits for `approve` and `reject`. */
  answer(mode: PhoneMode, options?: { afterSeconds?: number | undefined }): ReturnType<typeof setPhone>
  /** How it answers, and what waits now. */
  read(): ReturnType<typeof readPhone>
  /** Approves the authentication request of that id, or all that wait now. */
  approve(id?: number): ReturnType<typeof answerOnPhone>
  /** Rejects the authentication request of that id, or all that wait now. */
  reject(id?: number): ReturnType<typeof answerOnPhone>
}

export interface ShownClock {
  readonly mode: 'real' | 'manual'
  /** ISO 8601 with milliseconds. */
  readonly now: string
}

/** `ready` is for callers that do not come through `fetch`: what a start restores, the clock too, must not undo what they do. */
export function createSandbox(
  service: ServiceContext,
  { seed = {}, ready = async () => {} }: { seed?: Seed | undefined; ready?: () => Promise<void> } = {},
): Sandbox {
  const { storage, sandbox } = service
  if (!sandbox) throw new Error('this service has no sandbox')
  const { clock } = sandbox
  const showClock = (): ShownClock => ({ mode: clock.mode, now: new Date(clock.now()).toISOString() })
  const read: Storage['read'] = (body) => ready().then(() => storage.read(body))
  const write: Storage['write'] = (body) => ready().then(() => storage.write(body))
  let queue: ReturnType<typeof approvalQueue> | undefined
  const controls: Sandbox = {
    health: () => ({
      ok: true,
      name: 'farthing',
      version: VERSION,
      storage: storage.name,
      clock: showClock(),
      evidence: service.evidence,
    }),
    reset: () => ready().then(() => reset(service)),
    seed: (added) => write((tx) => plantSeed(tx, added, service)),
    credentials: () => read((tx) => knownCredentials(tx, seed, service.keys)),
    async snapshot({ key = true } = {}) {
      await ready()
      const state = await storage.export()
      return key ? state : withoutKey(state)
    },
    async restore(snapshot) {
      await ready()
      const { key } = await storage.read(keptKey)
      const state = withKey(await checkSnapshot(snapshot, sandbox.collections), key)
      await rehearseRestore(state, service)
      await storage.import(state)
      sandbox.handedApprovals.clear()
      // Nobody makes the calls that a snapshot shows under way.
      await begin(service, true)
    },
    fund: (order) => write((tx) => fund(tx, order, service)),
    clock: showClock,
    async setClock(change) {
      await ready()
      await move(service, change)
      await storage.write(async (tx) => keepClock(tx, clock.state()))
      return showClock()
    },
    advance: (advance) => controls.setClock({ advance }),
    outbox: (query = {}) => read((tx) => readInbox(tx, query)),
    emptyOutbox: () => write(emptyInbox),
    phone: (userId) => ({
      answer: (mode, { afterSeconds } = {}) => write((tx) => setPhone(tx, { userId, mode, afterSeconds }, service)),
      read: () => read((tx) => readPhone(tx, userId, service)),
      approve: (id) => write((tx) => answerOnPhone(tx, { userId, id, answer: 'approved' }, service)),
      reject: (id) => write((tx) => answerOnPhone(tx, { userId, id, answer: 'rejected' }, service)),
    }),
    approve: (id) => write((tx) => answerApproval(tx, { id, decision: 'approved' }, service)),
    reject: (id) => write((tx) => answerApproval(tx, { id, decision: 'rejected' }, service)),
    get approvals() {
      queue ??= approvalQueue(service, controls)
      return queue
    },
    rotateKeys: () => ready().then(() => rotateOidcKeys(service)),
    testValues: testValuesOf(service.cards),
    ledger: () => read(auditLedger),
  }
  return controls
}

async function move(service: ServiceContext, { advance, set, mode }: ClockChange): Promise<void> {
  const { background } = service
  const { clock } = sandboxOf(service)
  if ([advance, set, mode].filter((each) => each !== undefined).length !== 1)
    throw problem('field_invalid', { detail: 'Send exactly one of "advance", "set" and "mode".' })
  if (mode !== undefined) {
    clock.setMode(mode)
    background.wake()
    return
  }
  await background.moveClock(() => {
    const to = set ?? clock.now() + durationMs(required(advance, '"advance"'))
    if (!Number.isSafeInteger(to) || to < 0 || to > LAST_TIME)
      throw problem('field_invalid', { detail: 'The clock must be set to a time from 1970 to 9999.' })
    return to
  })
}

const LAST_TIME = Date.UTC(10_000, 0) - 1
