import type { Evidence } from '../base/evidence.js'
import type { Part } from '../base/parts.js'
import type { Alarm, Cards, Clock, Fonts, Log, Mailer, Push, Random, Upstream } from '../base/ports.js'
import type { Tracer } from '../base/tracer.js'
import type { Limits } from '../http/limits.js'
import type { Seed } from '../sandbox/controls/seed/seed-schema.js'
import type { JournalLimits } from '../sandbox/journal/journal.js'
import type { Storage } from '../storage/storage.js'

export interface AssemblyOptions {
  /** Where the state is. Default: in memory. `createService` of `farthing/core` has no default. */
  storage: Storage
  /**
   * Parts from `farthing/parts` that the service has. Default: all of them, and none for `createService` of
   * `farthing/slim`, whose bundle holds only what this list names.
   */
  parts?: readonly Part[]
  /** The URL of the service. Default: `http://127.0.0.1:4242`. */
  baseUrl?: string
  /** The ending of twins' hostnames. Default: `twin.localhost`. */
  twinDomain?: string
  /**
   * The unit of every `balances`. `quantity`: the digital quantity, with decimals, as the live service shows them.
   * `smallest`: integers of its smallest unit. All other amounts are in the quantity. Default: `quantity`.
   */
  balances?: 'quantity' | 'smallest'
  /** Says what time it is. Default: the system's clock. */
  clock?: Clock
  /** Calls back after a time. Default: the system's timers. */
  alarm?: Alarm
  /** Makes ids, secrets and nonces unpredictable. Default: the system's random bytes. */
  random?: Random
  /** Sends mail. Default: mail stays in the sandbox's outbox. */
  mailer?: Mailer
  /** Sends push messages. Default: they reach only the sandbox's outbox and the phones that it plays. */
  push?: Push
  /**
   * Fonts for PDF invoices. Default: the package's fonts, for Latin, Greek, Cyrillic and Hebrew letters. On Node,
   * `nodeFonts()` of `farthing/node` finds more. A PDF transliterates characters that no font has, and links to the
   * page that shows them.
   */
  fonts?: Fonts
  /**
   * Charges cards. Default: a sandbox accepts test payment methods (`sandbox.testValues`), and other services charge
   * no cards.
   */
  cards?: Cards
  /**
   * Calls upstream services. Default: the global `fetch`, which cannot check the addresses of names. On Node, use
   * `nodeUpstream()` of `farthing/node`, which checks them.
   */
  upstream?: Upstream
  /**
   * Which upstream services may be called. Addresses of cloud metadata, link-local and similar ones are always refused.
   * A function decides for each URL. A list of hosts, addresses and CIDR ranges adds to the default, which is public
   * hosts over https. A sandbox may call everything, or only public hosts and this machine once it is served over HTTP.
   */
  allowUpstream?: ((url: URL) => boolean) | readonly string[]
  /**
   * The chains of x402 and MPP, as CAIP-2 ids, or as CAIP-19 ids with the address of the token that stands for USDC. The
   * first is that of the service's own offers. No chain is called. Default: `['eip155:84532']`, Base Sepolia.
   */
  x402Networks?: readonly string[]
  /**
   * What happens when one payment is settled again. `once`: it is refused, as a chain refuses a used nonce.
   * `idempotent`: the first receipt is answered. Default: `once`.
   */
  x402Settle?: 'once' | 'idempotent'
  /** Whether a catalog purchase is charged even if its endpoint fails. Default: false, so the payment is reversed. */
  chargeOnUpstreamError?: boolean
  /** Takes what an operator should know. Default: the console. */
  log?: Log
  /**
   * Takes requests and deliveries as spans of traces, with a span in them for each call of the storage and of a port.
   * `openTelemetryTracer()` of `farthing/opentelemetry` gives them to OpenTelemetry. Default: nobody takes them.
   */
  tracer?: Tracer
  /**
   * Operations and fields with a weaker evidence grade are refused with 501, and answers leave such fields out. Default:
   * `designed`, which refuses none.
   */
  evidence?: Evidence
  /** Turns on the controls under `/_sandbox` and `service.sandbox`. Default: false. */
  sandbox?: boolean
  /** What a sandbox creates in an empty storage. */
  seed?: Seed
  /**
   * The token with which remote callers use the controls of a sandbox that is served over HTTP. Default: only local
   * callers may use them.
   */
  controlToken?: string
  /**
   * Origins whose pages may call a sandbox that is served over HTTP, in addition to its own and those on this
   * machine.
   */
  allowOrigins?: readonly string[]
  /**
   * Hosts for which a sandbox that is served over HTTP answers, in addition to that of `baseUrl` and those of this
   * machine.
   */
  allowHosts?: readonly string[]
  /**
   * Whether a proxy in front of the service says, at the end of `X-Forwarded-For`, which address a request comes from. The
   * journal and traces show it. It makes no caller local. Default: false, which takes the address of the connection.
   */
  trustProxy?: boolean
  /**
   * Encrypts secrets in the state: 32 bytes, or 64 hex digits. No other key can decrypt them. Default: a random key,
   * which is created once and stored with the state. The file storage puts it in a separate file, `<file>.key`.
   */
  encryptionKey?: Uint8Array | string
  /**
   * The journal of a sandbox, which keeps the last requests in memory: how many entries and bytes. False, or 0 entries,
   * for none. The states to return to take up to as many bytes again. Default: 10,000 entries or 64 MB.
   */
  journal?: boolean | Partial<JournalLimits>
  /** How large and how long things may be. Each limit has a default of its own. */
  limits?: Partial<Limits>
  /** Whether anyone may create accounts. Default: true. */
  accountCreation?: boolean
}
