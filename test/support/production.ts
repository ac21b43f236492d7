import { expect } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Mail } from '../../src/index.js'
import type { State } from '../../src/storage/storage.js'
import { type Call, caller } from './api.js'
import { newGuest } from './scenes/sign-in.js'

export interface Production {
  /** Calls the service, which is no sandbox. */
  readonly call: Call
  /** Calls a sandbox over the same storage: its controls fund wallets and audit the ledger. */
  readonly operate: Call
  /** All that was mailed, oldest first. */
  readonly mails: readonly Mail[]
  /** Opens a later service over a changed copy of the state. */
  reopen(change: (state: State) => State): Promise<void>
}

/** A service as people run it who earn by it, in this process. */
export function startProduction(): Production {
  const storage = memoryStorage()
  const mails: Mail[] = []
  const mailer = { send: async (mail: Mail) => void mails.push(mail) }
  const shared = { storage, mailer, encryptionKey: '0f'.repeat(32), log: { error: () => {} } }
  const service = createService(shared)
  const operator = createService({ ...shared, sandbox: true })
  return {
    call: caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) }),
    operate: caller({ url: operator.baseUrl, fetch: (request) => operator.fetch(request) }),
    mails,
    reopen: async (change) => storage.import(change(await storage.export())),
  }
}

/** The next mail to an address whose subject or text holds something, once it has come. */
export async function mailTo({ mails }: Production, email: string, holding: RegExp): Promise<Mail> {
  const found = () => mails.findLast(({ to, subject, text }) => to === email && holding.test(`${subject}\n${text}`))
  await expect.poll(found).toBeDefined()
  return found() as Mail
}

/** Asks for a code in a session, and reads it. */
export async function readCode(production: Production, session: string, email: string): Promise<string> {
  const isCode = ({ to, subject }: Mail) => to === email && /^\d{6} /.test(subject)
  const before = production.mails.filter(isCode).length
  await production.call('POST', '/v4/session/code', { session, body: { email } })
  await expect.poll(() => production.mails.filter(isCode).length).toBe(before + 1)
  return production.mails.findLast(isCode)?.subject.slice(0, 6) ?? ''
}

/** Signs the reader of an email in. Returns the session. */
export async function signInByMail(production: Production, email: string): Promise<string> {
  const session = await newGuest(production.call)
  const code = await readCode(production, session, email)
  const { body } = await production.call('POST', '/v4/session/verify', { session, body: { email, code } })
  return body.session_id
}

/** Approves the latest request with the mailed link. */
export const approveByMail = (production: Production, email: string) => answerByMail(production, email, 'approve')
export const rejectByMail = (production: Production, email: string) => answerByMail(production, email, 'reject')

async function answerByMail(production: Production, email: string, answer: string): Promise<void> {
  const { text } = await mailTo(production, email, /\/v4\/authentication-requests\//)
  const [path = ''] = /\/v4\/authentication-requests\/\S+/.exec(text) ?? []
  const token = new URLSearchParams(path.split('?')[1]).get('token') ?? ''
  expect((await production.call('POST', path, { form: { token, answer } })).status).toBeLessThan(400)
}
