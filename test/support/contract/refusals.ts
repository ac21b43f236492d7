import { expect } from 'vitest'
import { once } from '../../../src/base/memo.js'
import type { ProblemCode } from '../../../src/base/problem.js'
import type { Auth, Route } from '../../../src/http/route.js'
import type { Answer, Call, CallOptions } from '../api.js'
import { newAgent } from '../scenes/oidc.js'
import { newGuest } from '../scenes/sign-in.js'
import { basic, newPayer, newSeller, newSession } from '../scenes/world.js'
import type { Started } from './contract.js'
import { type Operation, operations } from './operations.js'
import { samplesOf } from './samples.js'
import { settledRows } from './settled.js'

/** Steps of asking every operation for what it refuses, through the public interface. */

export const takes =
  (...kinds: Auth[]) =>
  (operation: Operation) =>
    operation.route.auth.some((kind) => kinds.includes(kind))
export const built = operations.filter(({ route }) => route.status !== 501)
export const withBody = built.filter(({ route }) => route.body !== undefined)
export const json = { 'content-type': 'application/json' }

export interface Callers {
  account: CallOptions
  user: CallOptions
  agent: CallOptions
  /** An app that only signs its user in. */
  login: CallOptions
  guest: CallOptions
  session: CallOptions
  client: CallOptions
}

/** Callers of these kinds; without any named, of those that `acceptedBy` chooses from. */
export async function newCallers<Kind extends keyof Callers = AcceptedKind>(
  call: Call,
  ...kinds: readonly Kind[]
): Promise<Pick<Callers, Kind>> {
  const seller = once(() => newSeller(call))
  const payer = once(async () => newPayer(call, await seller()))
  const makers: { readonly [Each in keyof Callers]: () => Promise<CallOptions> } = {
    account: async () => ({ token: (await seller()).token }),
    user: async () => ({ token: (await payer()).token }),
    agent: async () => ({ token: (await newAgent(call)).accessToken }),
    login: async () => ({
      token: (await newAgent(call, { scope: 'openid profile email offline_access' })).accessToken,
    }),
    guest: async () => ({ session: await newGuest(call) }),
    session: async () => ({ session: await newSession(call, (await payer()).email) }),
    client: async () => ({ headers: basic((await seller()).clientId, (await seller()).clientSecret) }),
  }
  const made: Partial<Callers> = {}
  for (const kind of kinds.length > 0 ? kinds : acceptedKinds) made[kind] = await makers[kind]()
  return made as Pick<Callers, Kind> // Each of them was made.
}

const acceptedKinds = ['account', 'user', 'agent', 'session', 'guest', 'client'] as const
type AcceptedKind = (typeof acceptedKinds)[number]

/** What a route accepts as credentials. */
export function acceptedBy({ auth }: Route, callers: Pick<Callers, AcceptedKind>): CallOptions {
  const kind = acceptedKinds.find((each) => auth.includes(each))
  return kind === undefined ? {} : callers[kind]
}

/** Some at a time: what is refused changes nothing that others see. */
export async function forAll<T>(asked: readonly T[], ask: (each: T, index: number) => Promise<unknown>): Promise<void> {
  for (let n = 0; n < asked.length; n += AT_ONCE)
    await Promise.all(asked.slice(n, n + AT_ONCE).map((each, more) => ask(each, n + more)))
}

const AT_ONCE = 24

/** Calls every one of some operations, which must all refuse, and leave everything at rest as it was. */
export async function allRefuse(
  { call, state }: Pick<Started, 'call' | 'state'>,
  asked: readonly Operation[],
  [status, code]: readonly [number, ProblemCode],
  options: (operation: Operation) => CallOptions,
): Promise<void> {
  expect(asked.length).toBeGreaterThan(0)
  const before = await settledRows(state)
  await forAll(asked, async (operation) => {
    const answer = await call(operation.route.method, operation.absent, options(operation))
    expect([operation.route.id, answer.status, answer.body?.code]).toEqual([operation.route.id, status, code])
  })
  expect(await settledRows(state)).toEqual(before)
}

export const merged = (one: CallOptions, other: CallOptions): CallOptions => ({
  ...one,
  ...other,
  headers: { ...one.headers, ...other.headers },
})

export const onlyAccounts = ({ route }: Operation): boolean => route.auth.every((kind) => kind === 'account')

/** What people read of a refusal: OAuth's own errors have it beside their word. */
export const sentenceOf = ({ body }: Answer): string => body.error_description ?? body.error

/** A body that fits the route's schema, if it has one, without credentials. */
export function sampleOf({ body, text }: Route): CallOptions {
  if (text) return { raw: 'a\n', headers: { 'content-type': text.type } }
  if (!body) return {}
  const { public_secret: _, ...fields } = samplesOf(body)
  return { body: fields }
}

/** What no operation takes for a body. */
export const otherTypes = [
  'text/plain',
  'text/json',
  'application/xml',
  'multipart/form-data; boundary=x',
  'application/jsonx',
  'application/json, text/plain',
  'nonsense',
  '',
]

/** A Request given text for its body names a type itself; given bytes it does not. */
export const bodyOfType = (type: string): CallOptions => ({
  raw: new TextEncoder().encode('{}'),
  headers: type === '' ? {} : { 'content-type': type },
})
