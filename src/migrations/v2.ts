import { digest } from '../base/secrets.js'
import { normalEmail } from '../base/text/email.js'
import { parsedUrl } from '../base/text/foreign-url.js'
import { allRows } from '../storage/page.js'
import type { Reader, Writer } from '../storage/storage.js'
import { changeRows, type Migration, type OlderRow, olderRows, withMissing } from '../storage/tables/migration.js'
import { isObject } from '../storage/unknown.js'
import { reindex, wordIndex, wordsOf } from '../storage/word-index.js'
import { filling, lastTime, type MigrationStep } from './step.js'

/** Every row. */
const ALL = { index: 'id', prefix: [] as [] } as const
const users = olderRows('users')
const items = olderRows('catalog_items')
const payments = olderRows('payments')
const balances = olderRows('balances')
const reservations = olderRows('reservations')
const settings = olderRows('settings')
const serviceKeys = olderRows('service_keys')
const sellerWords = wordIndex('seller_words', '')
const catalogWords = wordIndex('catalog_words', '')
const DAY = 24 * 3_600_000

const steps: readonly MigrationStep[] = [
  { what: 'Lets the next start encrypt the messages of the outbox.', migrate: markClearMessages },
  filling('Says of each charge of a card whose limits it counts against.', {
    outbox: ({ kind }) => (kind === 'card' ? { subjects: [] } : {}),
  }),
  filling('Says since when each waiting message is due.', {
    // Nobody knows when a message was last set. It was not before it was written.
    outbox: ({ due_at, created_at }) => ({ due_set_at: due_at === null ? null : created_at }),
  }),
  filling('Says of each idempotent call that nobody can tell whether its service is alive.', {
    idempotency: { attended: false },
  }),
  { what: 'Keeps supply free for top-ups whose card is being charged.', migrate: reserveForTopups },
  { what: 'Writes emails in one form of Unicode.', migrate: normalizeEmails },
  { what: 'Says since when each user has proven their email.', migrate: recordProofs },
  filling('Says of each session which id it had before, and of each sign-in code whose limit it counts against.', {
    sessions: { page: null, previous_digest: null },
    sign_in_codes: ({ email }) => ({ counted: email }),
  }),
  filling('Says that each device is active.', { devices: { change: null } }),
  filling('Says whose limit each authentication request counts against.', {
    authentication_requests: ({ user_id }) => ({ asker: `user:${user_id}` }),
  }),
  { what: 'Says that each started authorization is valid, and since when each app is unused.', migrate: fillApps },
  filling('Says when the day or month of each spending ends.', { delegate_spendings: endOfSpending }),
  filling('Says which endpoint each inactive catalog item has.', {
    catalog_items: (item) => ({ idle_at: item.active && !item.archived ? null : fixedUrl(item.external_endpoint) }),
  }),
  filling('Says when each cart ends.', { carts: (cart) => ({ expires_at: endOfCart(cart) }) }),
  { what: 'Indexes the words of each account name and listed item.', migrate: indexWords },
  { what: 'Says who sells what each card of a checkout was charged for.', migrate: nameSellers },
  { what: 'Moves the key of the state to a collection of its own.', migrate: moveKey },
]

/** From the first schema, whose states have no number, to the second. Some of its states have new fields already. */
export const toV2: readonly Migration[] = steps.map((step) => ({ to: 2, ...step }))

/** Reads whether one is stored in clear, because only the service has the key. */
async function markClearMessages(tx: Writer): Promise<void> {
  let areClear = false
  await changeRows(tx, olderRows('outbox'), (message) => {
    areClear ||= message.sealed === undefined
    return message
  })
  if (areClear) tx.put(olderRows('settings'), { id: 'clear_rows', value: ['outbox'] })
}

/** An issuer owes at most 2^53-1 units. */
const MAX_UNITS = 2n ** 53n - 1n

async function reserveForTopups(tx: Writer): Promise<void> {
  for await (const message of allRows(tx, olderRows('outbox'), ALL)) {
    if (message.kind !== 'card' || message.status !== 'pending' || typeof message.purpose_id !== 'number') continue
    const payment = await tx.get(payments, message.purpose_id)
    if (payment?.status !== 'pending' || (await tx.get(reservations, payment.id))) continue
    const { id, dq, payer_twin_id: issuer_twin_id, amount } = payment
    const blank = { id: `${issuer_twin_id}:${dq}`, twin_id: issuer_twin_id, dq, amount: '0', held: '0' }
    const issuer: OlderRow = (await tx.get(balances, blank.id)) ?? blank
    const taken = units(issuer.reserved) + units(amount)
    // What cannot be reserved settles as before: it waits until supply returns.
    if (units(issuer.amount) - units(issuer.held) - taken < -MAX_UNITS) continue
    tx.put(balances, { ...issuer, reserved: String(taken) })
    tx.put(reservations, { id, dq, issuer_twin_id, amount })
  }
}

const units = (stored: unknown): bigint => BigInt(String(stored ?? 0))

/** An email that has a user in the one form already stays: nobody finds its user by email, then as now. */
async function normalizeEmails(tx: Writer): Promise<void> {
  const known = new Set<unknown>()
  for await (const { email } of allRows(tx, users, ALL)) known.add(email)
  await changeRows(tx, users, (user) => {
    const email = normalEmail(String(user.email))
    if (known.has(email)) return user
    known.add(email)
    return { ...user, email }
  })
}

/** A user has proven their email if they signed in by a mailed code, or if a seed created them. */
async function recordProofs(tx: Writer): Promise<void> {
  const proofs = await firstSignIns(tx)
  await changeRows(tx, users, (user) => {
    // Only seeds and sign-ins create users without an account.
    const unnamed = user.made_by === null ? user.created_at : null
    return withMissing(user, { email_verified_at: proofs.get(`user:${user.id}`) ?? unnamed })
  })
}

/** When each user first signed in by a code. */
async function firstSignIns(tx: Reader): Promise<Map<unknown, unknown>> {
  const first = new Map<unknown, unknown>()
  for await (const { type, owner, data, created_at } of allRows(tx, olderRows('events'), ALL))
    if (type === 'sign_in' && isObject(data) && data.by === 'code' && !first.has(owner)) first.set(owner, created_at)
  return first
}

/** The id ends with the day or month in ISO 8601, or with `all`. */
function endOfSpending({ id }: OlderRow) {
  const [, year, month, day] = /:(\d{4})-(\d\d)(?:-(\d\d))?$/.exec(String(id)) ?? []
  if (year === undefined) return {}
  const next = day === undefined ? [Number(month), 1] : [Number(month) - 1, Number(day) + 1]
  return { period_ends_at: Date.UTC(Number(year), next[0] ?? 0, next[1]) }
}

async function fillApps(tx: Writer): Promise<void> {
  await changeRows(tx, olderRows('oidc_interactions'), (interaction) => withMissing(interaction, { refused: null }))
  const used = new Set<unknown>()
  for await (const { client_id } of allRows(tx, olderRows('oidc_connections'), ALL)) used.add(client_id)
  // Nobody knows when the last user left.
  const at = await lastTime(tx)
  await changeRows(tx, olderRows('oidc_clients'), (client) =>
    withMissing(client, { unused_since: used.has(client.id) ? null : (at ?? client.created_at) }),
  )
}

/** The normalized URL of an endpoint without placeholders. */
function fixedUrl(endpoint: unknown): string | null {
  return (typeof endpoint === 'string' && !endpoint.includes('{') && parsedUrl(endpoint)?.href) || null
}

/** As accounts and items of this release are indexed. */
async function indexWords(tx: Writer): Promise<void> {
  for await (const { id, business_name, name } of allRows(tx, olderRows('accounts'), ALL))
    if (typeof id === 'number')
      await reindex(tx, sellerWords, { id, before: [], after: wordsOf(String(business_name ?? name ?? '')) })
  let listed = 0
  for await (const item of allRows(tx, items, ALL)) {
    if (typeof item.id !== 'number' || typeof item.listed_at !== 'number' || typeof item.hash !== 'string') continue
    const hostname = (await tx.get(olderRows('commodities'), item.hash))?.hostname
    const words = [...wordsOf(`${item.name}\n${item.description}`), String(hostname)]
    await reindex(tx, catalogWords, { id: item.id, before: [], after: [...new Set(words)] })
    listed++
  }
  if (listed > 0) tx.put(olderRows('catalog_counts'), { id: 'listed', items: listed })
}

/** As carts of this release end: 90 days after they were paid, a token's after 30 days, others after one. */
function endOfCart({ ordered_at, created_at, holder }: OlderRow): number {
  if (typeof ordered_at === 'number') return ordered_at + 90 * DAY
  return Number(created_at) + (String(holder).startsWith('token:') ? 30 : 1) * DAY
}

function nameSellers(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('checkout_charges'), async (charge) => {
    if (typeof charge.checkout_id !== 'number' || charge.seller_id !== undefined) return charge
    const checkout = await tx.get(olderRows('checkouts'), charge.checkout_id)
    const sold = checkout?.catalog_item_id
    const item = typeof sold === 'number' ? await tx.get(items, sold) : undefined
    return item ? { ...charge, seller_id: item.account_id } : charge
  })
}

async function moveKey(tx: Writer): Promise<void> {
  const stored = await tx.get(settings, 'key')
  if (!stored) return
  tx.remove(settings, 'key')
  const { value } = (await tx.get(serviceKeys, 'key')) ?? stored
  tx.put(serviceKeys, { id: 'key', value })
  if (!(await tx.get(settings, 'key_digest'))) tx.put(settings, { id: 'key_digest', value: digest(String(value)) })
}
