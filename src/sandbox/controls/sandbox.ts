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

/** A change of a sandbox's clock. Set exactly one field. */
export interface ClockChange {
  /** `90s`, `15m`, `1h30m`, `2d`, or seconds. Negative values go back. */
  readonly advance?: string | number | undefined
  /** Unix milliseconds. */
  readonly set?: number | undefined
  readonly mode?: 'real' | 'manual' | undefined
}

/** The controls of a sandbox as methods. They do what `/_sandbox` does over HTTP. */
export interface Sandbox {
  health(): { ok: true; name: string; version: string; storage: string; clock: ShownClock; evidence: string }
  /** Resets the sandbox to its seed. */
  reset(): Promise<void>
  /** Creates everything that a seed names, or nothing. Returns all credentials. */
  seed(seed: Seed): Promise<Seeded>
  /** Returns the seed's credentials that work. */
  credentials(): Promise<Credentials>
  /**
   * Returns the whole state as one JSON document, which any other sandbox can `restore`, with any storage. It contains
   * the key that decrypts its secrets, unless `key` is false.
   */
  snapshot(options?: { key?: boolean | undefined }): Promise<State>
  /**
   * Replaces the whole state by a snapshot, with its time and its key, if it has one. Throws `snapshot_invalid`,
   * `snapshot_refused`.
   */
  restore(snapshot: State): Promise<void>
  /** Issues value to a twin. */
  fund(order: { hostname: string; amount: number; dq?: string | undefined }): ReturnType<typeof fund>
  clock(): ShownClock
  setClock(change: ClockChange): Promise<ShownClock>
  /** Advances the clock: `await sandbox.advance('1h')`. */
  advance(duration: string | number): Promise<ShownClock>
  /** Returns messages that left the service, newest first, with the codes and links in them. */
  outbox(query?: InboxQuery): ReturnType<typeof readInbox>
  emptyOutbox(): Promise<void>
  /** Returns a user's phone: `await sandbox.phone(user.id).answer('approve', { afterSeconds: 5 })`. */
  phone(userId: number): Phone
  /** Approves an agent's request as its user. Throws `not_found`, `not_pending`. */
  approve(approvalId: string): Promise<ShownApproval>
  reject(approvalId: string): Promise<ShownApproval>
  /** The approvals that agents request, in order: `await sandbox.approvals.next().approve()`. */
  readonly approvals: ReturnType<typeof approvalQueue>
  /**
   * Rotates the key that signs OIDC tokens. The old key stays published for a day. Returns the ids of all keys, the new
   * one first.
   */
  rotateKeys(): ReturnType<typeof rotateOidcKeys>
  /** Payment methods and patterns of email addresses that make a sandbox behave in a certain way. */
  readonly testValues: TestValues
  /** Checks every rule of the ledger. */
  ledger(): Promise<Audit>
}

/** A user's phone, played by the sandbox. Each method throws `not_found` for an unknown user. */
export interface Phone {
  /** Sets how it answers future pushes. `manual`, the default, waits for `approve` and `reject`. */
  answer(mode: PhoneMode, options?: { afterSeconds?: number | undefined }): ReturnType<typeof setPhone>
  /** Returns how it answers, and the pending requests. */
  read(): ReturnType<typeof readPhone>
  /** Approves one authentication request, or all that are pending. */
  approve(id?: number): ReturnType<typeof answerOnPhone>
  /** Rejects one authentication request, or all that are pending. */
  reject(id?: number): ReturnType<typeof answerOnPhone>
}

export interface ShownClock {
  readonly mode: 'real' | 'manual'
  /** ISO 8601 with milliseconds. */
  readonly now: string
}

/** Returns the controls of a service. `ready` resolves when the start has restored state and clock. */
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
      // The calls that a snapshot shows as running are not running here.
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
