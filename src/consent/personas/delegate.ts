import { type Owner, userIdOf } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { contentHash } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import type { ProvenUser } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { accountByPublicSecret } from '../../identity/accounts/account.js'
import { clients } from '../../identity/tokens/token.js'
import { generationOf, users } from '../../identity/users/user.js'
import { recordEvent } from '../../jobs/events/event.js'
import type { EventType } from '../../jobs/events/event-types.js'
import { quantityOf, readQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount, toUnits } from '../../money/ledger/amount.js'
import { type TwinRow, twins } from '../../money/twins/twin.js'
import { countedDaily } from '../../storage/growth.js'
import { getExisting, getOrNotFound, newestFirst, ReadOnce } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { clientById } from '../oidc/clients/client.js'
import { ownPersona } from './persona.js'

/** The party that may spend, named by its credential. */
export type NamedParty = { readonly client_id: string } | { readonly public_secret: string }

/** A calendar day or month in UTC. */
export type SpendingPeriod = 'day' | 'month'

/** What a delegate lets a party spend from the persona's twin. */
export interface SpendingAuthority {
  readonly party: NamedParty
  readonly dq: string
  /** Smallest units per period, or in total if there is no period. */
  readonly limit: string
  readonly period: SpendingPeriod | null
  readonly expires_at: number | null
}

export interface NewSpendingAuthority {
  readonly party: { readonly client_id?: string | undefined; readonly public_secret?: string | undefined }
  readonly dq: string
  /** In the digital quantity. */
  readonly limit: number
  readonly period?: SpendingPeriod | null | undefined
  readonly expiresAt?: number | undefined
}

/** Returns the spending authority to store. Throws `field_invalid` for an unknown party or a past time, `dq_unknown`, `amount_invalid`. */
export async function checkSpendingAuthority(tx: Reader, spend: NewSpendingAuthority, at: number) {
  const party = await namedParty(tx, spend.party)
  const { decimals } = await quantityOf(tx, spend.dq)
  const limit = toUnits(spend.limit, decimals)
  if (limit === 0n) throw problem('amount_invalid', { detail: 'The limit must be above zero.' })
  const { expiresAt = null } = spend
  if (expiresAt !== null && expiresAt <= at) throw fieldRefused('spend.expires_at', 'must be in the future')
  return { party, dq: spend.dq, limit: String(limit), period: spend.period ?? null, expires_at: expiresAt }
}

async function namedParty(tx: Reader, { client_id, public_secret }: NewSpendingAuthority['party']) {
  if (client_id !== undefined && public_secret === undefined) {
    const client = await tx.get(clients, client_id)
    if (client?.deleted_at === null || (await clientById(tx, client_id))) return { client_id }
    throw fieldRefused('spend.party.client_id', 'must be the id of a client')
  }
  if (public_secret !== undefined && client_id === undefined) {
    if (await accountByPublicSecret(tx, public_secret)) return { public_secret }
    throw fieldRefused('spend.party.public_secret', 'must be the public_secret of an account')
  }
  throw fieldRefused('spend.party', 'must hold either client_id or public_secret')
}

/** A spending authority as the persona's owner sees it: `limit` in the digital quantity, Unix seconds. */
async function showSpendingAuthority(tx: Reader, { party, dq, limit, period, expires_at }: SpendingAuthority) {
  const amount = toAmount(limit, (await quantityOf(tx, dq)).decimals)
  return { party, dq, limit: amount, period, expires_at: secondsOrNull(expires_at) }
}

/** What a persona gave to a twin. Until it is revoked, it can be verified and may let a party spend. The id is its hash. */
export interface DelegateRow {
  readonly id: string
  /** Ascending number, in the order of creation. */
  readonly number: number
  readonly persona: string
  readonly persona_owner: Owner
  /** The persona owner's, as long as it is not revoked. A delegate of a lower one is dead. */
  readonly generation: number | null
  readonly twin_id: number
  readonly hostname: string
  /** The holder, as the persona's owner names them. */
  readonly name: string | null
  readonly email: string | null
  /** Counts 1, 2, 3 … per persona. */
  readonly issue: number
  /** Part of the hash, so that nobody can compute the hash from public data. */
  readonly salt: string
  readonly spend: SpendingAuthority | null
  readonly created_at: number
  readonly revoked_at: number | null
}

export const delegates = collection<DelegateRow>()(
  'delegates',
  {
    byPersona: { fields: ['persona', 'issue'] },
    byHolding: { fields: ['persona', 'twin_id', 'issue'] },
    // Only those that nobody revoked.
    byGeneration: { fields: ['persona_owner', 'generation'] },
    byTwin: { fields: ['twin_id', 'created_at', 'number'] },
  },
  {
    refs: { persona: 'personas', twin_id: 'twins' },
    secrets: ['id', 'salt'],
    growth: countedDaily('an account or user, by createDelegate'),
    retention: { forever: 'A binder lists it, and it is verified by its hash.' },
  },
)

type DelegateIdentity = Pick<DelegateRow, 'persona' | 'issue' | 'salt' | 'spend' | 'created_at'>

export const delegateHash = ({ persona, issue, salt, spend, created_at }: DelegateIdentity, { address }: TwinRow) =>
  contentHash({ persona, twin: address, issue, salt, spend, created_at })

export const hasValidHash = (row: DelegateRow, twin: TwinRow): boolean => delegateHash(row, twin) === row.id

export const recordDelegateEvent = (tx: Writer, type: EventType, row: DelegateRow, twin: TwinRow, at: number) =>
  recordEvent(tx, {
    owners: [row.persona_owner, twin.owner],
    type,
    actor: row.persona_owner,
    subject: `delegate:${row.id}`,
    data: { persona: row.persona, hostname: row.hostname, issue: row.issue, spends: row.spend !== null },
    at,
  })

/** Revokes a delegate of the owner's persona. Throws `not_found`, also if it is revoked already, and `not_owner`. */
export async function deleteDelegate(
  tx: Writer,
  { persona, delegate, owner, at }: { persona: string; delegate: string; owner: Owner; at: number },
): Promise<void> {
  await ownPersona(tx, owner, persona)
  const row = await getOrNotFound(tx, delegates, delegate, { persona })
  if (!(await isDelegateValid(tx, row))) throw problem('not_found')
  await revoke(tx, row, at)
}

async function revoke(tx: Writer, row: DelegateRow, at: number): Promise<void> {
  const revoked: DelegateRow = { ...row, generation: null, revoked_at: at }
  tx.put(delegates, revoked)
  await recordDelegateEvent(tx, 'delegate.revoked', revoked, await getExisting(tx, twins, row.twin_id), at)
}

/** Whether a delegate has ended neither by itself nor with its persona owner's generation. */
export const isDelegateValid = async (tx: Reader, { revoked_at, generation, persona_owner }: DelegateRow) =>
  revoked_at === null && generation === (await generationOf(tx, persona_owner))

/** Revokes delegates of a user's former generations. Returns how many. */
export async function revokeDelegatesOf(tx: Writer, { userId, generation, most, at }: ProvenUser): Promise<number> {
  const oldest = await tx.find(delegates, { index: 'byGeneration', prefix: [`user:${userId}`], limit: most })
  const ended = oldest.filter((row) => row.generation !== null && row.generation < generation)
  for (const row of ended) await revoke(tx, row, at)
  return ended.length
}

type DelegateList = { persona: string; owner: Owner; limit?: number | undefined; after?: string | undefined }

/** Every delegate of the owner's persona, including revoked ones, newest first. Throws `not_found`, `not_owner`, `cursor_invalid`. */
export async function listDelegates(tx: Reader, { persona, owner, ...page }: DelegateList) {
  await ownPersona(tx, owner, persona)
  const { rows, next } = await newestFirst(tx, delegates, { index: 'byPersona', prefix: [persona], ...page })
  const read = new ReadOnce(tx)
  const authorities = rows.map(({ spend }) => spend).filter((spend) => spend !== null)
  await readQuantities(read, authorities)
  const shown = []
  for (const row of rows) shown.push(await showDelegate(read, row))
  return { delegates: shown, next }
}

async function showDelegate(tx: Reader, row: DelegateRow) {
  const { id: hash, persona, hostname, issue, name, email } = row
  const spend = row.spend && (await showSpendingAuthority(tx, row.spend))
  const times = { revoked_at: secondsOrNull(await revokedAt(tx, row)), created_at: seconds(row.created_at) }
  return { hash, persona, hostname, issue, name, email, spend, ...times }
}

const secondsOrNull = (at: number | null): number | null => (at === null ? null : seconds(at))

/** When a delegate ended, in Unix milliseconds: one of a former generation, when its persona's owner proved their email. */
export async function revokedAt(tx: Reader, row: DelegateRow): Promise<number | null> {
  if (row.revoked_at !== null || (await isDelegateValid(tx, row))) return row.revoked_at
  const owner = await tx.get(users, userIdOf(row.persona_owner) ?? 0)
  return owner?.email_verified_at ?? row.created_at
}
