import { digest, type Keyring, keyring, randomHex } from '../../../base/secrets.js'
import type { ServiceContext } from '../../../http/context.js'
import { clients, tokens, userClientSecret } from '../../../identity/tokens/token.js'
import { StateForgotten } from '../../../storage/history/history.js'
import { stateText } from '../../../storage/state.js'
import type { Row, State, Storage } from '../../../storage/storage.js'
import { forkStorage } from '../../../storage/tables/serial.js'
import type { KeptEntry } from '../../journal/kept-entry.js'
import { sandboxOf } from '../../onion/context.js'
import { type CallDraft, notReplayable, type Secret } from '../../replay/call-draft.js'
import { freshNonce } from '../../replay/credentials.js'
import { keepClock, keepKey } from '../../settings/settings.js'

/** Collections whose rows only the former key could use: tokens and stored answers. */
const USELESS: ReadonlySet<string> = new Set([tokens.name, 'idempotency'])

/** The longest state that a test file holds, in characters. */
const LONGEST_STATE = 2_000_000

/**
 * The state before an entry, for a test that begins with it. It has a key of its own, so that nothing in it that the sandbox
 * encrypted can be read, and the secrets that its test needs are made for it.
 */
export class PreparedState {
  private constructor(
    private readonly storage: Storage,
    private readonly keys: Keyring,
    /** The state as the sandbox had it. */
    private readonly text: string,
    private readonly service: ServiceContext,
  ) {}

  /** Throws `not_replayable` if the sandbox no longer has the state, or if it is too large for a file. */
  static async before(entry: KeptEntry, service: ServiceContext): Promise<PreparedState> {
    const storage = await storageBefore(entry, service)
    const text = [...stateText(await storage.export())].join('')
    if (text.length > LONGEST_STATE) throw notReplayable('state', TOO_LARGE)
    const key = randomHex(service.random, 32)
    await storage.write(async (tx) => {
      keepKey(tx, key)
      keepClock(tx, { mode: 'manual', ms: Date.parse(entry.at) })
    })
    return new PreparedState(storage, keyring(key, service.random), text, service)
  }

  isStored = (text: string): boolean => this.text.includes(JSON.stringify(text))

  /** Gives a client a secret that only this state has. Undefined if there is no such client. */
  clientSecret(clientId: string): Promise<string | undefined> {
    return this.storage.write(async (tx) => {
      const client = await tx.get(clients, clientId)
      if (!client) return undefined
      const isOfUser = client.owner_kind === 'user'
      const made = () => `mc_${randomHex(this.service.random, 16)}`
      const secret = isOfUser ? userClientSecret(clientId, { keys: this.keys }) : made()
      tx.put(clients, { ...client, secret_digest: digest(secret) })
      return secret
    })
  }

  /** Gives the payment of a nonce one that only this state has. Throws `not_replayable`. */
  nonce(draft: CallDraft, secret: Secret): Promise<string> {
    const stage = { service: this.service, isFork: true }
    return this.storage.write((tx) => freshNonce(tx, { draft, secret, stage }))
  }

  async state(): Promise<State> {
    const { rows, counters, ...head } = await this.storage.export()
    const kept = Object.entries(rows).filter(([name, list]) => list.length > 0 && !USELESS.has(name))
    const isCollection = new Set(sandboxOf(this.service).collections.map(({ name }) => name))
    // Those of the sandbox have counted on. From here, new things get the ids that they had.
    const counted = Object.entries(counters).map(([name, last]) => [
      name,
      isCollection.has(name) ? lastNumber(rows[name] ?? []) : last,
    ])
    return { ...head, counters: Object.fromEntries(counted), rows: Object.fromEntries(kept) }
  }

  close = (): Promise<void> => this.storage.close()
}

const lastNumber = (rows: readonly Row[]): number =>
  rows.reduce((last, row) => Math.max(last, Number('number' in row ? row.number : row.id) || 0), 0)

/** A copy of the storage, as it was before an entry. No service runs over it, so nothing in it happens by itself. */
async function storageBefore({ before }: KeptEntry, service: ServiceContext): Promise<Storage> {
  const { history, schemas } = sandboxOf(service)
  if (before === undefined || !history) throw notReplayable('state', FORGOTTEN)
  const storage = await forkStorage(service.storage, schemas)
  try {
    await storage.write(async (tx) => history.rewindCopy(before, tx))
    return storage
  } catch (error) {
    throw error instanceof StateForgotten ? notReplayable('state', FORGOTTEN) : error
  }
}

const FORGOTTEN =
  'The sandbox no longer has the state before it: it was reset or replaced since, or too much has happened.'
const TOO_LARGE =
  'The state before it is too large for a file. Repeat the requests in a sandbox that holds only what they need.'
