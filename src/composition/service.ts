import type { WaitingRequests } from '../http/fields/intake.js'
import type { FetchSource } from '../http/incoming.js'
import type { DeadLetter } from '../jobs/dead-letters/dead-letter.js'
import type { Sandbox } from '../sandbox/controls/sandbox.js'
import type { SnapshotControls } from '../sandbox/controls/state-controls.js'
import type { AgentControls } from '../sandbox/scripted-agent/controls.js'

/** Services of their own over the same state. */
export interface ForkControls {
  /**
   * Returns a service with the state, the clock and the options of this one. It is in memory, shares rows, and neither
   * sees what happens in the other. Close it after use: closing this service leaves it open.
   */
  fork(): Promise<Service>
}

/** The micropayment service. */
export interface Service {
  /** The URL of the service, without a trailing slash. */
  readonly baseUrl: string
  /**
   * Answers a request, with the arguments of the global `fetch`. Relative URLs resolve against `baseUrl`. Redirects are
   * returned, not followed. Rejects with the reason of the request's signal if that fires, and with a TypeError where the
   * global `fetch` does.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** Answers a request of a runtime. `source` is what the runtime knows about it, such as the address of the caller. */
  respond(request: Request, source?: FetchSource): Promise<Response>
  /**
   * The requests that wait for their first transaction. A server in front of the service that holds requests back enters
   * each, and lets it leave when it passes it on.
   */
  readonly waiting: WaitingRequests
  /** The sandbox's controls. Throws an Error if the service has no sandbox. */
  readonly sandbox: Sandbox & AgentControls & SnapshotControls & ForkControls
  /**
   * Work that failed too often, such as recording that a card was charged. It waits for you. A sandbox shows it at
   * `/_sandbox/dead-letters`.
   */
  readonly deadLetters: {
    list(): Promise<DeadLetter[]>
    /** Tries the work once more. Throws `not_found`. */
    retry(id: string): Promise<void>
  }
  /** Resolves when the service is ready. `fetch` waits for this itself. */
  ready(): Promise<void>
  /**
   * Waits for deliveries, upstream calls and streams in progress, at most `withinMs` milliseconds (default:
   * `limits.closeMs`), and closes the storage. The next start resumes or undoes what is still under way.
   */
  close(options?: { readonly withinMs?: number }): Promise<void>
}
