import { load } from '../../base/load.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { VERSION } from '../../base/version.js'
import type { ShownApproval } from '../../consent/approvals/approval.js'
import type { SecondFactorAnswer } from '../../consent/second-factor/answer.js'
import type { PhoneMode } from '../../consent/second-factor/phone.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import type { z } from '../../http/fields/schema.js'
import { ensureSweep } from '../../jobs/retention/sweep-timer.js'
import { type TestValues, testValuesOf } from '../../money/cards/test-values.js'
import type { Audit } from '../../money/ledger/audit.js'
import type { BinderImport, ImportedBinder } from '../../payments/binder-imports/import.js'
import { csvKey } from '../../payments/binder-imports/part.js'
import type { State, Storage } from '../../storage/storage.js'
import { storageUnavailable } from '../../storage/unavailable.js'
import { type ExportControls, exportControls } from '../exports/controls.js'
import { type FaultControls, faultControls, thenArm } from '../faults/controls.js'
import { findJournal } from '../journal/journal.js'
import { type Requests, requestControls } from '../journal/requests.js'
import { type CallerControls, callerControls, type ReplayControls, replayControls } from '../replay/controls.js'
import { keepClock, keptKey, withKey, withoutFaults, withoutKey } from '../settings/settings.js'
import { type ApprovalQueue, approvalQueue } from './approvals.js'
import { begin, reset } from './bootstrap.js'
import { durationMs } from './clock.js'
import { sandboxOf } from './context.js'
import type { Coverage } from './coverage.js'
import { emptyInbox, type InboxPage, type InboxQuery, readInbox } from './inbox.js'
import type { PhoneAnswers, PhoneSettings, ShownPhone } from './phone.js'
import { type Credentials, clientsIn, knownCredentials } from './seed/credentials.js'
import { type Funded, fund } from './seed/fund.js'
import { addSeed, type Seeded } from './seed/seed.js'
import type { Seed } from './seed/seed-content.js'
import { SeedSchema } from './seed/seed-schema.js'
import {
  BinderImportShape,
  ClockChangeShape,
  clockTime,
  FundOrderShape,
  LAST_TIME,
  OutboxQueryShape,
  PhoneAnswerShape,
  PhoneRequestShape,
  ResetShape,
  SignInShape,
  SnapshotQueryShape,
  TIME_RANGE,
} from './shapes.js'
import type { SignedInUser } from './sign-in.js'

/** What a running service says about itself. */
export interface Health {
  /** False while nothing can be stored. Reads go on. */
  readonly ok: boolean
  /** Why nothing can be stored. Absent if `ok`. */
  readonly fault?: string
  readonly name: string
  readonly version: string
  /** The kind of storage, such as `file`. */
  readonly storage: string
  readonly clock: ShownClock
  readonly evidence: string
  /** The name of this process, and then those of the others that serve from the same storage. Absent if none may. */
  readonly processes?: readonly string[]
}

/** A change of a sandbox's clock. Set exactly one field. */
export interface ClockChange {
  /** `90s`, `15m`, `1h30m`, `2d`, or seconds. Negative values go back. */
  readonly advance?: string | number | undefined
  /** Unix seconds or milliseconds, a number or digits; an ISO 8601 date or date-time; or a `Date`. */
  readonly set?: number | string | Date | undefined
  readonly mode?: 'real' | 'manual' | undefined
}

/**
 * The controls of a sandbox as methods. They do what `/_sandbox` does over HTTP, and take the same fields. A field that a
 * control does not know throws `field_invalid`.
 */
export interface Sandbox extends CallerControls {
  /** Says what runs, and whether it can store anything. */
  health(): Health
  /** Resets the sandbox to its seed. Keeps the journal, unless `clear_journal` is true. */
  reset(options?: { clear_journal?: boolean | undefined }): Promise<void>
  /** Creates everything that a seed names, or nothing. Returns all credentials. */
  seed(seed: Seed): Promise<Seeded>
  /** Returns the credentials of everything that was seeded, at the start or later, as long as they work. */
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
  fund(order: { hostname: string; amount: number; dq?: string | undefined }): Promise<Funded>
  /**
   * Imports the CSV of a binder into a twin without a history: all of its rows, or none. Throws `not_found`,
   * `binder_invalid`, `binder_refused`, `import_in_progress`, `import_ended`.
   */
  importBinder(order: BinderImport): Promise<ImportedBinder>
  /** Returns the mode of the clock and its time. */
  clock(): ShownClock
  /** Sets the clock, moves it, or stops and starts it: `await sandbox.setClock({ mode: 'manual' })`. */
  setClock(change: ClockChange): Promise<ShownClock>
  /** Advances the clock: `await sandbox.advance('1h')`. */
  advance(duration: string | number): Promise<ShownClock>
  /** Returns messages that left the service, newest first, with the codes and links in them. */
  outbox(query?: InboxQuery): Promise<InboxPage>
  /** Deletes the messages in the outbox. Charges and refunds that are not settled yet stay. */
  emptyOutbox(): Promise<void>
  /**
   * Signs a user in without a mailed code or second factor. Creates the user if there is none, like a code. Send the
   * headers with each call: `fetch(url, { headers: (await sandbox.signIn(email)).headers })`.
   */
  signIn(email: string | { email: string }): Promise<SignedInUser>
  /** Returns a user's phone: `await sandbox.phone(user.id).answer('approve', { afterSeconds: 5 })`. */
  phone(userId: number): Phone
  /** Approves an agent's request as its user. Throws `not_found`, `not_pending`. */
  approve(approvalId: string): Promise<ShownApproval>
  /** Rejects an agent's request as its user. Throws `not_found`, `not_pending`. */
  reject(approvalId: string): Promise<ShownApproval>
  /** The approvals that agents request, in order: `await sandbox.approvals.next().approve()`. */
  readonly approvals: ApprovalQueue
  /**
   * Rotates the key that signs OIDC tokens. The old key stays published for a day. Returns the ids of all keys, the new
   * one first.
   */
  rotateKeys(): Promise<{ kids: string[] }>
  /** The journal: the last requests, timers and deliveries, with what they caused. */
  readonly requests: Requests & ReplayControls & ExportControls
  /**
   * Makes everything unreadable that the encryption key encrypted, such as dispatch values, as if the key were lost.
   * Secrets that are derived from it change too, such as those of users.
   */
  forgetEncryptionKey(): Promise<void>
  /** Returns every operation with its evidence grade, and how often it was called since the start. */
  coverage(): Promise<Coverage>
  /** Payment methods and patterns of email addresses that make a sandbox behave in a certain way. */
  readonly testValues: TestValues
  /** Failures on purpose. */
  readonly faults: FaultControls
  /** Checks every rule of the ledger. */
  ledger(): Promise<Audit>
  /**
   * Returns what the sandbox has counted since its start and what waits now, as text in the format of OpenMetrics. May
   * start an audit of the ledger in the background, whose result the next call shows.
   */
  metrics(): Promise<string>
}

/** A user's phone, played by the sandbox. Each method throws `not_found` for an unknown user. */
export interface Phone {
  /**
   * Sets how it answers future pushes. `manual`, the default, waits for `approve` and `reject`. Also takes
   * `{ mode, after_seconds }`, like `/_sandbox/devices/{user_id}`.
   */
  answer(
    mode: PhoneMode | { mode: PhoneMode; after_seconds?: number | undefined },
    options?: { afterSeconds?: number | undefined },
  ): Promise<PhoneSettings>
  /** Returns how it answers, and the pending requests. */
  read(): Promise<ShownPhone>
  /** Approves one authentication request, or all that are pending. */
  approve(request?: PhoneRequest): Promise<PhoneAnswers>
  /** Rejects one authentication request, or all that are pending. */
  reject(request?: PhoneRequest): Promise<PhoneAnswers>
}

/** The id of an authentication request. */
type PhoneRequest = number | { id?: number | undefined }

export interface ShownClock {
  readonly mode: 'real' | 'manual'
  /** ISO 8601 with milliseconds. */
  readonly now: string
}

/** What the health check answers. Throws `storage_unavailable`, with the same fields, while nothing can be stored. */
export function checkHealth(service: ServiceContext): Health & { readonly ok: true } {
  const health = createSandbox(service).health()
  const { fault } = service.storage
  if (fault) throw storageUnavailable(fault, { ...health, clock: { ...health.clock } })
  return { ...health, ok: true }
}

/** Returns the controls of a service. `ready` resolves when the start has restored state and clock. */
export function createSandbox(
  service: ServiceContext,
  { seed = {}, ready = async () => {} }: { seed?: Seed | undefined; ready?: () => Promise<void> } = {},
): Sandbox {
  const { storage, sandbox } = service
  if (!sandbox) throw new Error('this service has no sandbox')
  const { clock } = sandbox
  const shownProcesses = () => {
    const processes = service.background.processes()
    return processes && { processes }
  }
  const showClock = (): ShownClock => ({ mode: clock.mode, now: new Date(clock.now()).toISOString() })
  const read: Storage['read'] = (body) => ready().then(() => storage.read(body))
  const write: Storage['write'] = (body) => ready().then(() => storage.write(body))
  let queue: ApprovalQueue | undefined
  const answer = async (userId: number, request: PhoneRequest = {}, given: SecondFactorAnswer) => {
    const { id } = checkShape(PhoneRequestShape, typeof request === 'object' ? request : { id: request })
    const { answerOnPhone } = await loadPhone()
    return write((tx) => answerOnPhone(tx, { userId, id, answer: given }, service))
  }
  const decide = async (id: string, decision: 'approved' | 'rejected') => {
    const { answerApproval } = await load(() => import('./approval.js'))
    return write((tx) => answerApproval(tx, { id, decision }, service))
  }
  const controls: Sandbox = {
    health: () => ({
      ok: !storage.fault,
      ...(storage.fault && { fault: storage.fault.reason ?? 'the storage is unavailable' }),
      name: 'farthing',
      version: VERSION,
      storage: storage.name,
      clock: showClock(),
      evidence: service.evidence,
      ...shownProcesses(),
    }),
    async reset(options = {}) {
      const { clear_journal: clearsJournal = false } = checkShape(ResetShape, options)
      await ready()
      const armFaults = await service.faults?.prepareReset()
      await service.background.rest(async () => {
        await reset(service)
        armFaults?.()
        if (clearsJournal) findJournal(service)?.clear()
      }, 'state')
    },
    seed: async (added) => {
      const given = checkShape(SeedSchema, added)
      await ready()
      const { fixed, seeded } = await thenArm(given.faults, service, () => addSeed(given, service))
      for (const client of clientsIn(fixed)) sandbox.seededClients.set(client.client_id, client)
      return seeded
    },
    credentials: () =>
      read((tx) => knownCredentials(tx, seed, { keys: service.keys, added: sandbox.seededClients.values() })),
    async snapshot(query = {}) {
      const { key = true } = checkShape(SnapshotQueryShape, query)
      await ready()
      const state = withoutFaults(await storage.export())
      return key ? state : withoutKey(state)
    },
    async restore(snapshot) {
      const { checkSnapshot, rehearseRestore } = await load(() => import('./snapshot.js'))
      await ready()
      const { key } = await storage.read(keptKey)
      const state = withKey(await checkSnapshot(snapshot, sandbox), key)
      await rehearseRestore(state, service)
      // Until the clock is that of the snapshot, its waits would look as if they lay ahead.
      await service.background.rest(async () => {
        await storage.import(state)
        sandbox.handedApprovals.clear()
        // The calls that a snapshot shows as running are not running here.
        await begin(service, true)
      }, 'state')
    },
    fund: async (order) => {
      const given = checkShape(FundOrderShape, order)
      return write((tx) => fund(tx, given, service))
    },
    async importBinder(order) {
      checkShape(BinderImportShape, order)
      const { importBinder } = await service.parts.load(csvKey)
      await ready()
      return importBinder(order, service)
    },
    clock: showClock,
    async setClock({ set, ...change }) {
      const given = { ...change, ...(set !== undefined && { set: set instanceof Date ? set.toJSON() : set }) }
      const checked = checkShape(ClockChangeShape, given)
      await ready()
      await move(service, checked)
      return showClock()
    },
    advance: (advance) => controls.setClock({ advance }),
    outbox: async (query = {}) => {
      const given = checkShape(OutboxQueryShape, query)
      return read((tx) => readInbox(tx, given))
    },
    emptyOutbox: () => write(emptyInbox),
    signIn: async (email) => {
      const given = checkShape(SignInShape, typeof email === 'object' ? email : { email })
      const { signInAsUser } = await load(() => import('./sign-in.js'))
      return write((tx) => signInAsUser(tx, given, service))
    },
    ...callerControls(service, ready),
    phone: (userId) => ({
      answer: async (answer, options = {}) => {
        const { mode, after_seconds: afterSeconds } = checkShape(PhoneAnswerShape, phoneAnswer(answer, options))
        const { setPhone } = await loadPhone()
        return write((tx) => setPhone(tx, { userId, mode, afterSeconds }, service))
      },
      read: async () => {
        const { readPhone } = await loadPhone()
        return read((tx) => readPhone(tx, userId, service))
      },
      approve: (request) => answer(userId, request, 'approved'),
      reject: (request) => answer(userId, request, 'rejected'),
    }),
    approve: (id) => decide(id, 'approved'),
    reject: (id) => decide(id, 'rejected'),
    get approvals() {
      queue ??= approvalQueue(service, controls)
      return queue
    },
    rotateKeys: async () => {
      const { rotateOidcKeys } = await load(() => import('./keys.js'))
      await ready()
      return rotateOidcKeys(service)
    },
    requests: {
      ...requestControls(service, ready),
      ...replayControls(service, ready),
      ...exportControls(service, ready),
    },
    forgetEncryptionKey: async () => {
      const { forgetEncryptionKey } = await load(() => import('./keys.js'))
      await ready()
      await forgetEncryptionKey(service)
    },
    coverage: async () => {
      const { readCoverage } = await load(() => import('./coverage.js'))
      return readCoverage(sandbox)
    },
    testValues: testValuesOf(service.cards),
    faults: faultControls(service, ready),
    ledger: async () => {
      const { auditLedger } = await load(() => import('./snapshot.js'))
      await ready()
      return auditLedger(service)
    },
    metrics: async () => {
      const { readMetrics } = await load(() => import('../metrics/metrics.js'))
      return readMetrics(service, () => controls.ledger())
    },
  }
  return controls
}

const loadPhone = () => load(() => import('./phone.js'))

function phoneAnswer(
  answer: Parameters<Phone['answer']>[0],
  { afterSeconds, ...unknown }: { afterSeconds?: number | undefined },
) {
  return { ...(typeof answer === 'object' ? answer : { mode: answer, after_seconds: afterSeconds }), ...unknown }
}

async function move(service: ServiceContext, { advance, set, mode }: CheckedChange): Promise<void> {
  const { background, storage } = service
  const { clock } = sandboxOf(service)
  const store = () =>
    storage.write(async (tx) => {
      keepClock(tx, clock.state())
      await ensureSweep(tx, clock.now())
    })
  if ([advance, set, mode].filter((each) => each !== undefined).length !== 1)
    throw problem('field_invalid', { detail: 'Send exactly one of "advance", "set" and "mode".' })
  if (mode !== undefined)
    return background.rest(async () => {
      clock.setMode(mode)
      await store()
    }, 'clock')
  await background.moveClock(() => {
    const to = set === undefined ? clock.now() + durationMs(required(advance, '"advance"')) : clockTime(set)
    if (!Number.isSafeInteger(to) || to < 0 || to > LAST_TIME) throw problem('field_invalid', { detail: TIME_RANGE })
    return to
  }, store)
}

type CheckedChange = z.output<typeof ClockChangeShape>
