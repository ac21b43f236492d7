import { normalEmail } from '../base/text/email.js'
import { allRows } from '../storage/page.js'
import type { Reader, Writer } from '../storage/storage.js'
import { changeRows, olderRows, withMissing } from '../storage/tables/migration.js'
import { isObject } from '../storage/unknown.js'
import type { MigrationStep } from './step.js'

const users = olderRows('users')
const all = { index: 'id', prefix: [] as [] } as const

export const identityToV2: readonly MigrationStep[] = [
  { what: 'Writes emails in one form of Unicode.', migrate: normalizeEmails },
  { what: 'Says since when each user has proven their email.', migrate: recordProofs },
  {
    what: 'Says of each session which id it had before, and of each sign-in code whose limit it counts against.',
    migrate: fillSessions,
  },
]

/** An email that has a user in the one form already stays: nobody finds its user by email, then as now. */
async function normalizeEmails(tx: Writer): Promise<void> {
  const known = new Set<unknown>()
  for await (const { email } of allRows(tx, users, all)) known.add(email)
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
  for await (const { type, owner, data, created_at } of allRows(tx, olderRows('events'), all))
    if (type === 'sign_in' && isObject(data) && data.by === 'code' && !first.has(owner)) first.set(owner, created_at)
  return first
}

async function fillSessions(tx: Writer): Promise<void> {
  await changeRows(tx, olderRows('sessions'), (session) => withMissing(session, { page: null, previous_digest: null }))
  await changeRows(tx, olderRows('sign_in_codes'), (code) => withMissing(code, { counted: code.email }))
}
