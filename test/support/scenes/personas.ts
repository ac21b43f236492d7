import { expect } from 'vitest'
import type { Call, CallOptions } from '../api.js'
import { newTwin } from './world.js'

/** Personas and their delegates, made through the public interface. */

/** A well-formed hash that nothing has. */
export const UNKNOWN_HASH = `41${'0'.repeat(64)}`
export const HASH = /^41[0-9a-f]{64}$/

export interface Persona {
  hash: string
  name: string
  description: string | null
  /** Of the twin that anchors it. */
  hostname: string
  twinId: number
  created_at: number
}

/** A persona of the caller's, anchored to the first of their twins, or to one made for it where they have none. */
export async function newPersona(call: Call, owner: { token: string }, fields: object = {}): Promise<Persona> {
  const { token } = owner
  const { twins } = (await call('GET', '/v4/twins', { token })).body
  const { id } = twins.at(-1) ?? (await newTwin(call, token))
  const answer = await call('POST', '/v4/persona', { token, body: { name: 'Ada', twin_id: id, ...fields } })
  expect(answer.status).toBe(201)
  return { ...answer.body, twinId: id }
}

export interface Delegate {
  hash: string
  persona: string
  hostname: string
  issue: number
  created_at: number
}

/** Creates a delegate of a persona for a twin. */
export async function newDelegate(
  call: Call,
  options: CallOptions,
  { persona, hostname, ...more }: { persona: string; hostname: string } & Record<string, unknown>,
): Promise<Delegate> {
  const answer = await call('POST', `/v4/persona/${persona}/delegate`, { ...options, body: { hostname, ...more } })
  expect(answer.status).toBe(201)
  return answer.body
}

/** The numeric id of a user's or account's twin. */
export async function twinIdOf(call: Call, token: string, hostname: string): Promise<number> {
  const answer = await call('GET', `/v4/twin/${hostname}`, { token })
  return answer.body.id
}
