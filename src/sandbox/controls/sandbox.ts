import { load } from '../../base/parts.js'
import type { ShownApproval } from '../../consent/approvals/approval.js'
import type { PhoneMode } from '../../consent/second-factor/phone.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import type { TestValues } from '../../money/cards/test-values.js'
import type { ShownCommodity } from '../../money/commodities/commodity.js'
import type { Audit } from '../../money/ledger/audit.js'
import type { BinderImport, ImportedBinder } from '../../payments/binder-imports/import.js'
import type { State } from '../../storage/storage.js'
import { type ExportControls, exportControls, RangeShape } from '../exports/controls.js'
import { type FaultControls, faultControls } from '../faults/faults.js'
import { checkOperation } from '../journal/filter.js'
import { streamEntries } from '../journal/follow.js'
import { type EntryFilter, matcher } from '../journal/journal.js'
import { journalOf, type Requests, requestControls } from '../journal/requests.js'
import { type CallerControls, callerControls, type ReplayControls, replayControls } from '../replay/controls.js'
import type { Coverage } from './coverage.js'
import type { PhoneAnswers, PhoneSettings, ShownPhone, SignedInUser } from './people.js'
import {
  type ApprovalQueue,
  approvalQueue,
  type InboxPage,
  type InboxQuery,
  peopleControls,
} from './people-controls.js'
import type { RowPage, RowQuery } from './rows.js'
import type { Credentials } from './seed/credentials.js'
import type { Funded, FundOrder } from './seed/fund.js'
import type { Seeded } from './seed/seed.js'
import type { Seed } from './seed/seed-schema.js'
import { type RehearsalControls, rehearsalControls, serviceControls } from './service-controls.js'
import { RowQueryShape } from './shapes.js'
import { readCredentials, stateControls, type Wallets, walletControls } from './state-controls.js'

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
   * Lists the rows of a collection as they are stored, newest first, without credentials. A call looks at 20,000 rows at
   * most: go on with `next` as `after`. Throws `not_found`, `cursor_invalid`.
   */
  rows(collection: string, query?: RowQuery): Promise<RowPage>
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
  fund(order: FundOrder): Promise<Funded>
  /** The addresses whose signatures pay by x402 and MPP. */
  readonly wallets: Wallets
  /** Changes the name or the price of a commodity for later payments, as no client can. Throws `not_found`, `amount_invalid`. */
  updateCommodity(hash: string, change: CommodityChange): Promise<ShownCommodity>
  /**
   * Imports the CSV of a binder into a twin without a history: all of its rows, or none. Throws `not_found`,
   * `binder_invalid`, `binder_refused`, `import_in_progress`, `import_ended`.
   */
  importBinder(order: BinderImport): Promise<ImportedBinder>
  /** Returns the mode of the clock and its time. */
  clock(): ShownClock
  /** Returns which work waits for the clock and is due first. Null if none waits. */
  nextDue(): Promise<DueWork | null>
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
  /** Reports of rehearsals, which the workbench shows. */
  readonly rehearsals: RehearsalControls
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
export type PhoneRequest = number | { id?: number | undefined }

/** A change of a commodity. Undefined leaves a value unchanged. */
export interface CommodityChange {
  readonly descriptor?: string | undefined
  /** In the digital quantity. */
  readonly cost?: number | undefined
}

/** Work that waits for the clock. */
export interface DueWork {
  /** ISO 8601 with milliseconds. */
  readonly at: string
  /** What happens, such as `approval_expires`, or `delivery` for a message that is tried again. */
  readonly kind: string
  /** The id of what it is about. */
  readonly subject: string
}

export interface ShownClock {
  readonly mode: 'real' | 'manual'
  /** ISO 8601 with milliseconds. */
  readonly now: string
}

/** Returns all controls of a service. `run` runs one when the start has restored state and clock. */
export function createSandbox(service: ServiceContext, run: Around): Sandbox {
  const { health, clock, coverage, testValues, metrics, ...changes } = serviceControls(service)
  const { explain, follow, clear, ...requests } = requestControls(service)
  const { phone, ...people } = peopleControls(service)
  const atOnce = { health, clock, coverage, testValues, metrics }
  const waiting = around(
    {
      ...{ ...changes, ...stateControls(service), ...people, ...callerControls(service) },
      credentials: () => readCredentials(service),
      async rows(collection: string, query: RowQuery = {}) {
        const asked = checkShape(RowQueryShape, query)
        const { listRows } = await load(() => import('./rows.js'))
        return service.storage.read((tx) => listRows(tx, service, collection, asked))
      },
      requests: { ...requests, ...replayControls(service), ...exportControls(service) },
      faults: faultControls(service),
      wallets: walletControls(service),
      rehearsals: rehearsalControls(service),
    },
    run,
  )
  return {
    ...{ ...atOnce, ...waiting, phone: (userId) => around(phone(userId), run) },
    approvals: approvalQueue(service, waiting),
    requests: { explain, follow, clear, ...waiting.requests },
  }
}

/** Runs a control, perhaps later. */
export type Around = <T>(control: () => T | Promise<T>) => Promise<T>

/** The same controls, each of which `run` runs. */
export function around<C extends object>(controls: C, run: Around): C {
  const wrapped = (control: unknown) =>
    typeof control === 'function'
      ? (...given: unknown[]) => run(() => control(...given))
      : around(control as object, run) // A group of controls.
  return Object.fromEntries(Object.entries(controls).map(([name, each]) => [name, wrapped(each)])) as C // of the same names
}

export { ExportFormatShape, exportControls } from '../exports/controls.js'
export { faultControls } from '../faults/faults.js'
export { RequestQueryShape, requestControls } from '../journal/requests.js'
export { ActAsShape, callerControls, ReplayShape, replayControls } from '../replay/controls.js'

/** Follows entries as server-sent events. Throws `field_invalid` before the first one. */
export async function streamRequests(
  { after, ...filter }: EntryFilter & { readonly after?: string | undefined },
  signal: AbortSignal | undefined,
  service: ServiceContext,
) {
  await checkOperation(filter, service)
  return streamEntries(journalOf(service), { matches: matcher(filter), after, signal }, service)
}

/** Writes a range of entries for another tool. Throws `field_invalid` if a part of the order is missing, and `not_found`. */
export async function exportRange(order: object, service: ServiceContext) {
  const { as, ...range } = checkShape(RangeShape, order)
  return [await exportControls(service).export(range, as), as] as const
}
