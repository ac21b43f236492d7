import type { Evidence } from '../../base/evidence.js'
import type { LimitedMap } from '../../base/memo.js'
import { required } from '../../base/required.js'
import type { Keyring } from '../../base/secrets.js'
import type { SandboxContext, ServiceContext } from '../../http/context.js'
import type { FetchSource } from '../../http/incoming.js'
import { evidenceOf, type Route } from '../../http/route.js'
import type { History } from '../../storage/history/history.js'
import type { AnyCollection, Storage, Writer } from '../../storage/storage.js'
import type { SchemaHistory } from '../../storage/tables/migration.js'
import type { Faults } from './fault.js'
import type { Measurements } from './measurements.js'
import type { RehearsalReport } from './rehearsal-report.js'

/** Who may use a sandbox over HTTP, in addition to this machine. */
export interface SandboxAccess {
  /** The token with which remote callers use the controls. Never stored. */
  readonly controlToken: string | undefined
  /** In the spelling of browsers: `https://shop.example.test`. */
  readonly allowOrigins: readonly string[]
  /** In lower case. A host without a port is allowed at every port. */
  readonly allowHosts: readonly string[]
}

/** A state that is kept under a name. */
export interface NamedSnapshot {
  readonly name: string
  /** ISO 8601. */
  readonly at: string
  readonly rows: number
  readonly note?: string
  /** In memory. Nothing writes to it. */
  readonly storage: Storage
}

/** A fork that is reached over HTTP. */
export interface HttpFork {
  readonly id: string
  /** Its base URL. */
  readonly url: string
}

/** The forks of a service that are reached below its own URL. */
export interface HttpForks {
  /** Throws `sandbox_full`, and `StorageClosed` if the service is closed or closing. */
  create(): Promise<HttpFork>
  list(): readonly HttpFork[]
  /** Closes a fork. Throws `not_found`. */
  remove(id: string): Promise<void>
  /** The id of the fork that a path below the service's base URL belongs to. Undefined if it names none. */
  find(path: string): string | undefined
  /** Answers a request of a fork. The URL of the source holds the base path of the service. Throws `not_found`. */
  respond(id: string, request: Request, source: FetchSource): Promise<Response>
  close(): Promise<void>
}

/** A sandbox, as its own parts know it. */
export interface SandboxParts extends SandboxContext {
  readonly access: SandboxAccess
  /** Answers a request as this service does. It comes over no network, so it passes the guards. */
  respond(request: Request, source: FetchSource): Promise<Response>
  /** The collections that a snapshot may hold. */
  readonly collections: readonly AnyCollection[]
  readonly schemas: SchemaHistory
  readonly faults: Faults
  /** What the commits of this process replaced. Undefined without a journal. */
  readonly history: History | undefined
  /** The number of the last commit of an entry of the journal. Undefined for an unknown one. */
  commitOfEntry(id: string): number | undefined
  /** The clients of the seed with which the sandbox was started. */
  firstClients(): Promise<readonly SeededClient[]>
  /** What the seed sells at paths of the service itself. */
  ownItems(keys: Keyring): Promise<readonly OwnItem[]>
  /** Loads what creates the seed, the state after a reset. It throws an Error if the seed is wrong. */
  loadSeed(): Promise<(tx: Writer, service: ServiceContext) => Promise<void>>
  loadOperations(): Promise<readonly KnownOperation[]>
  /** The kinds of timers and of messages, which entries of the journal have in place of an operation. */
  readonly kindsOfWork: readonly string[]
  /** Undefined until the start has ended. */
  measurements: Measurements | undefined
  /** How often each operation was called in this process: `createPayment v4`, or only the id without a version. */
  readonly calls: Map<string, number>
  /** Loads the whole route table, for controls that speak about operations. */
  loadRoutes(): Promise<readonly Route[]>
  /** Ids of approvals that `approvals.next()` has returned. It returns each only once, until the state is replaced. */
  readonly handedApprovals: LimitedMap<string, true>
  /** Credentials from seeds that this process added, by client id. */
  readonly seededClients: LimitedMap<string, SeededClient>
  readonly snapshots: Map<string, NamedSnapshot>
  /** By id, the oldest first. */
  readonly rehearsals: Map<string, { readonly at: string; readonly report: RehearsalReport }>
  readonly forks: HttpForks
  /** Forks the service for one use: as it is now, or as it was in the past. Throws `StateForgotten`. */
  openFork(past?: PastMoment): Promise<OpenFork>
}

/** An item that a seed sells at a path of the service itself. */
export interface OwnItem {
  /** Of its account. */
  readonly publicSecret: string | undefined
  readonly name: string
  readonly path: string
}

/** A moment of the past to which a fork returns. */
export interface PastMoment {
  /** The state is that after this commit. */
  readonly commit: number
  readonly at: number
}

/** A fork for one use. */
export interface OpenFork {
  readonly service: ServiceContext
  close(): Promise<void>
}

/** An operation, as the sandbox lists it. */
export interface KnownOperation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly isControl: boolean
  /** One without a version for a path without versions. */
  readonly versions: readonly { readonly version: string | undefined; readonly evidence: Evidence }[]
}

/** Client credentials from a seed. A user's secret is derived from the client id. */
export type SeededClient =
  | { readonly kind: 'account'; readonly name: string; readonly client_id: string; readonly client_secret: string }
  | { readonly kind: 'user'; readonly client_id: string }

/** Returns the sandbox of a service. Throws an Error if it has none. */
export const sandboxOf = ({ sandbox }: Pick<ServiceContext, 'sandbox'>): SandboxParts =>
  required(sandbox, 'the sandbox of this service') as SandboxParts // Whoever makes a sandbox makes all of it.

/** What coverage and faults know of a route. */
export const knownOperation = (route: Route): KnownOperation => ({
  id: route.id,
  method: route.method,
  path: route.path,
  isControl: route.scope === 'sandbox',
  versions: (route.versions ?? [undefined]).map((version) => ({ version, evidence: evidenceOf(route, version) })),
})
