import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, it, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { OutboxRow } from '../../src/base/message.js'
import { isPlainLine, removeInvisible } from '../../src/base/text/invisible-characters.js'
import { memberships } from '../../src/identity/accounts/account.js'
import { type MailKindName, mailKinds, sendMail } from '../../src/identity/mail/send-mail.js'
import { users } from '../../src/identity/users/user.js'
import { outbox } from '../../src/jobs/outbox/outbox.js'
import { allRows } from '../../src/storage/page.js'
import type { Storage } from '../../src/storage/storage.js'

const kinds = Object.keys(mailKinds) as MailKindName[]
const limited = kinds.filter((kind) => mailKinds[kind].above !== 'counted')
const VICTIM = 'victim@example.test'
const AT = 1_700_000_000_000

const user = (id: number, email: string, email_verified_at: number | null) => ({
  ...{ id, email, made_by: 1, generation: 0, email_verified_at, is_android: false, is_ios: false },
  ...{ created_at: AT, updated_at: AT, deleted_at: null },
})

async function mailsIn(storage: Storage) {
  const found: OutboxRow[] = []
  const all = storage.read(async (tx) => {
    for await (const row of allRows(tx, outbox, { index: 'id', prefix: [] })) found.push(row)
    return found
  })
  return (await all).filter(({ to }) => to === VICTIM)
}

/** Causes one mail a hundred times, by a hundred owners or one. Refusals count as nothing sent. */
async function causedBy(
  storage: Storage,
  kind: MailKindName,
  ownerOf: (n: number) => `account:${number}` | `user:${number}` | null,
) {
  for (let n = 1; n <= 100; n++) {
    const mail = { kind, to: VICTIM, owner: ownerOf(n), subject: 'Hello', text: 'Hello.', at: AT + n }
    await storage
      .write((tx) => sendMail(tx, mail))
      .catch((error: { code?: string }) => {
        expect(error.code).toBe('too_many_mails')
      })
  }
  return (await mailsIn(storage)).length
}

describe.each(limited)('a mail of the kind %s', (kind) => {
  it('goes to an address that nobody has proven five times in a quarter of an hour, whoever causes it', async () => {
    for (const ownerOf of [
      (n: number) => `account:${n}` as const,
      (n: number) => `user:${n}` as const,
      () => 'user:7' as const,
      () => null,
    ]) {
      const storage = memoryStorage()
      await storage.write(async (tx) => {
        tx.put(users, user(7, VICTIM, null))
        for (let n = 1; n <= 100; n++) {
          const membership = { account_id: n, user_id: 7, role: 'owner' } as const
          tx.put(memberships, { id: `${n}:7`, ...membership })
        }
      })
      expect(await causedBy(storage, kind, ownerOf)).toBe(5)
      await storage.write((tx) =>
        sendMail(tx, { kind, to: VICTIM, owner: null, subject: 'Hello', text: 'Hello.', at: AT + 1_000_000 }),
      )
      expect(await mailsIn(storage)).toHaveLength(6)
      await storage.close()
    }
  })

  it('goes to a proven address five times too, if strangers cause it', async () => {
    const storage = memoryStorage()
    await storage.write(async (tx) => tx.put(users, user(7, VICTIM, AT)))
    expect(await causedBy(storage, kind, (n) => (n % 2 ? `account:${n}` : `user:${n + 100}`))).toBe(5)
    await storage.close()
  })

  it('still goes to its owner, whatever strangers caused', async () => {
    const storage = memoryStorage()
    await storage.write(async (tx) => tx.put(users, user(7, VICTIM, AT)))
    await causedBy(storage, kind, () => null)
    const own = { kind, to: VICTIM, owner: 'user:7', subject: 'Hello', text: 'Hello.', at: AT } as const
    expect(await storage.write((tx) => sendMail(tx, own))).toBe(true)
    await storage.close()
  })

  it('holds no link of strangers, and no character that cannot be seen', async () => {
    const storage = memoryStorage()
    const foreign = 'Win at https://evil.example/x, www.evil.example and evil.example\u202e\u200b now\u0007'
    const own = 'https://pay.example.test'
    const near = `${own}.evil.example/x ${own}@evil.example/x`
    const subject = `${foreign}\r\nBcc: eve@example.test`
    const text = `${foreign}\n\n${near}\n${own}/v4/billing.`
    const mail = { kind, to: VICTIM, owner: null, subject, text, ownLinks: own, at: AT }
    await storage.write((tx) => sendMail(tx, mail))
    const [row] = await mailsIn(storage)
    expect(isPlainLine(row?.subject ?? '')).toBe(true)
    expect(removeInvisible(row?.text ?? '')).toBe(row?.text)
    for (const shown of [row?.subject, row?.text]) expect(shown).not.toContain('evil.example')
    expect(row?.subject).not.toContain('://')
    expect(row?.text.match(/https:\/\/\S+/g)).toEqual([`${own}/v4/billing.`])
    await storage.close()
  })
})

test('notices about security reach a proven address without a limit', async () => {
  for (const kind of limited.filter((each) => mailKinds[each].class === 'security')) {
    const storage = memoryStorage()
    await storage.write(async (tx) => tx.put(users, user(7, VICTIM, AT)))
    expect(await causedBy(storage, kind, () => 'user:7')).toBe(100)
    await storage.close()
  }
})

test('only a sign-in code is counted by its feature, and all others by the gate', () => {
  expect(kinds.filter((kind) => mailKinds[kind].above === 'counted')).toEqual(['sign_in_code'])
})

test('nothing but the gate writes a mail', async () => {
  const src = new URL('../../src/', import.meta.url)
  const files = (await readdir(src, { recursive: true })).filter((file) => /\.tsx?$/.test(file))
  const writers: string[] = []
  const putters: string[] = []
  const sent = new Set<string>()
  for (const file of files) {
    const text = await readFile(new URL(file, src), 'utf8')
    if (/\bpostMail\b/.test(text)) writers.push(file)
    if (/\bput\(outbox\b/.test(text)) putters.push(file)
    for (const kind of kinds) if (text.includes(`kind: '${kind}'`)) sent.add(kind)
  }
  expect(writers.toSorted()).toEqual(['identity/mail/send-mail.ts', 'jobs/outbox/outbox.ts'])
  // The queue of messages itself, and no feature.
  expect(putters.filter((file) => !file.startsWith('jobs/outbox/')).toSorted()).toEqual([
    'jobs/dead-letters/dead-letter.ts',
    'sandbox/controls/bootstrap.ts',
  ])
  // Each kind is one that something sends. That of requests is named beside its owner.
  expect([...sent].toSorted()).toEqual(kinds.toSorted())
})
