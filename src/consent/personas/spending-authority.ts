import { problem } from '../../base/problem.js'
import { seconds } from '../../base/time.js'
import { fieldRefused } from '../../http/fields/field.js'
import { accountByPublicSecret } from '../../identity/accounts/account.js'
import { clients } from '../../identity/tokens/client.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount, toUnits } from '../../money/ledger/amount.js'
import type { Reader } from '../../storage/storage.js'
import { clientById } from '../oidc/clients/client.js'

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
  /** Unix milliseconds. */
  readonly expiresAt?: number | undefined
}

/** Returns the spending authority to store. Throws `field_invalid` for an unknown party or a past time, `dq_unknown`, `amount_invalid`. */
export async function checkSpendingAuthority(
  tx: Reader,
  spend: NewSpendingAuthority,
  at: number,
): Promise<SpendingAuthority> {
  const party = await namedParty(tx, spend.party)
  const { decimals } = await quantityOf(tx, spend.dq)
  const limit = toUnits(spend.limit, decimals)
  if (limit === 0n) throw problem('amount_invalid', { detail: 'The limit must be above zero.' })
  const { expiresAt = null } = spend
  if (expiresAt !== null && expiresAt <= at) throw fieldRefused('spend.expires_at', 'must be in the future')
  return { party, dq: spend.dq, limit: String(limit), period: spend.period ?? null, expires_at: expiresAt }
}

async function namedParty(
  tx: Reader,
  { client_id, public_secret }: NewSpendingAuthority['party'],
): Promise<NamedParty> {
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
export async function showSpendingAuthority(tx: Reader, { party, dq, limit, period, expires_at }: SpendingAuthority) {
  const { decimals } = await quantityOf(tx, dq)
  return {
    party,
    dq,
    limit: toAmount(limit, decimals),
    period,
    expires_at: expires_at === null ? null : seconds(expires_at),
  }
}
