import { afterEach, expect } from 'vitest'
import type { Mail } from '../../../src/base/ports.js'
import { digest } from '../../../src/base/secrets.js'
import { type OidcTokenRow, oidcTokens } from '../../../src/consent/oidc/token.js'
import { type SessionRow, sessions } from '../../../src/identity/sessions/session.js'
import { createService, type Service } from '../../../src/index.js'
import type { Collection, Row } from '../../../src/storage/storage.js'
import { caller } from '../api.js'
import { countingRows } from '../storage/counting-rows.js'
import { type App, newAgent, newApp } from './oidc.js'
import { newGuest } from './sign-in.js'
import { newPayer, newSeller } from './world.js'

/** Families of rows that one transaction ends, in a service that is no sandbox. */

const open: Service[] = []

afterEach(async () => {
  for (const service of open.splice(0)) await service.close()
})

export const VICTIM = 'victim@example.test'

/** A service that is no sandbox. */
export function serve({ storage }: Pick<ReturnType<typeof countingRows>, 'storage'>) {
  const mails: Mail[] = []
  const service = createService({
    storage,
    mailer: { send: async (mail) => void mails.push(mail) },
    encryptionKey: '0f'.repeat(32),
    log: { error: () => {} },
  })
  open.push(service)
  const call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  return { service, mails, call }
}

/** Such a service, in which an account made a user, who has a session. */
export async function started() {
  const counting = countingRows()
  const serving = serve(counting)
  const { call } = serving
  const seller = await newSeller(call)
  const user = await newPayer(call, seller, { email: VICTIM })
  const session: string = (await call('POST', '/v4/session', { token: user.token })).body.session_id
  return { ...counting, ...serving, seller, user, session }
}

export type Started = Awaited<ReturnType<typeof started>>

export async function rowsOf<R>({ inner }: Pick<Started, 'inner'>, { name }: { readonly name: string }): Promise<R[]> {
  return ((await inner.export()).rows[name] ?? []) as unknown as R[]
}

/** Stores copies of the last row of a collection: what a flood, or a state of an older release, has. */
export async function flood<R extends Row>(
  run: Started,
  count: number,
  into: Collection<R>,
  change: (n: number, row: R) => Partial<R>,
) {
  const last = (await rowsOf<R>(run, into)).at(-1)
  if (!last) throw new Error(`there is nothing in ${into.name}`)
  await run.inner.write(async (tx) => {
    for (let n = 1; n <= count; n++) tx.put(into, { ...last, ...change(n, last) })
  })
}

// An id below those that the service gave, so that the first slice ends no row which the tests look at.
export const earlierId = (n: number) => ({ id: -n })

/** The id of a copied session. */
export const copiedSession = (n: number): string => `ms_${String(n).padStart(32, '0')}`

export const floodSessions = (run: Started, count: number, change: Partial<SessionRow> = {}) =>
  flood<SessionRow>(run, count, sessions, (n) => ({ ...earlierId(n), digest: digest(copiedSession(n)), ...change }))

export const floodTokens = (run: Started, count: number) =>
  flood<OidcTokenRow>(run, count, oidcTokens, (n) => ({
    ...{ id: `t${n}`, access_digest: `a${n}`, refresh_digest: `r${n}`, refresh_used: true },
  }))

async function signIn({ call, mails }: Started) {
  const session = await newGuest(call)
  await call('POST', '/v4/session/code', { session, body: { email: VICTIM } })
  await expect.poll(() => mails.some(({ subject }) => subject.includes('sign-in code'))).toBe(true)
  const code = mails.map(({ subject }) => /^\d{6}/.exec(subject)?.[0]).findLast((found) => found !== undefined)
  return { session, body: { email: VICTIM, code } }
}

/** Counts the rows of what `act` does itself: from then on, no timer goes on to remove anything. */
export async function measured({ counted, paused }: Started, act: () => Promise<unknown>) {
  paused.timers = true
  const { read, written } = counted
  await act()
  return { read: counted.read - read, written: counted.written - written }
}

/** The first sign-in at the address. Returns what is counted, and the session of the owner. */
export async function proves(run: Started) {
  const sent = await signIn(run)
  let session = ''
  const work = await measured(run, async () => {
    const { status, body } = await run.call('POST', '/v4/session/verify', sent)
    expect(status).toBe(200)
    session = body.session_id
  })
  return { work, session }
}

export const connected = async (run: Started): Promise<{ app: App; agent: Awaited<ReturnType<typeof newAgent>> }> => {
  const app = await newApp(run.call)
  return { app, agent: await newAgent(run.call, { app, session: run.session }) }
}
