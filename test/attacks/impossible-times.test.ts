import { expect, it } from 'vitest'
import type { Answer, Call } from '../support/api.js'
import { attacked } from '../support/scenes/attacked.js'
import { expectProblem, stopClock } from '../support/scenes/market.js'
import { setPhone } from '../support/scenes/paywall.js'
import { newPersona } from '../support/scenes/personas.js'
import { defaultDq, newReader, newSeller, newSession, type Payer } from '../support/scenes/world.js'

/** Times that no calendar has. Read leniently, February 31 makes a right last three days longer than was said. */

const startService = attacked()

const IMPOSSIBLE = [
  ...['2032-02-30', '2032-02-31T00:00Z', '2033-02-29', '2032-04-31T12:00:00+02:00', '2032-13-01', '2032-00-10'],
  // Later than a date can say.
  ...[8_640_000_000_001, 9_007_199_254_740, '8640000000001'],
]

interface Scene {
  readonly call: Call
  readonly user: Payer
  readonly session: string
  readonly persona: string
  readonly dq: string
}

async function start(): Promise<Scene> {
  const { call } = await startService()
  await stopClock(call)
  const user = await newReader(call, await newSeller(call))
  await setPhone(call, user, 'approve')
  const { hash: persona } = await newPersona(call, user)
  const session = await newSession(call, user.email)
  return { call, user, session, persona, dq: await defaultDq(call) }
}

const delegate = ({ call, user, persona, dq }: Scene, caller: object, expires_at: unknown): Promise<Answer> => {
  const spend = { party: { client_id: user.clientId }, dq, limit: 1, expires_at }
  return call('POST', `/v4/persona/${persona}/delegate`, { ...caller, body: { hostname: user.hostname, spend } })
}

it.each<[where: string, send: (scene: Scene, time: string | number) => Promise<Answer>]>([
  ['the end of a spending authority', (scene, time) => delegate(scene, scene.user, time)],
  ['the same, by a session', (scene, time) => delegate(scene, { session: scene.session }, time)],
  ['the start of a binder', ({ call, user }, time) => binder(call, user, `from=${encodeURIComponent(time)}`)],
  ['the end of a binder', ({ call, user }, time) => binder(call, user, `to=${encodeURIComponent(time)}`)],
  ['the catalog', ({ call }, time) => call('GET', `/v4/catalog/items?created_after=${encodeURIComponent(time)}`)],
])('%s is no time that no calendar has', async (_, send) => {
  const scene = await start()
  for (const time of IMPOSSIBLE) expectProblem(await send(scene, time), 400, 'field_invalid')
})

const binder = (call: Call, { token, hostname }: Payer, query: string) =>
  call('GET', `/v4/twin/${hostname}/binder?${query}`, { token })

it('the last day of a leap February, the last second of a date and midnight are times', async () => {
  const scene = await start()
  for (const time of ['2032-02-29', '2036-02-29T23:59:59.999Z', '2032-02-28T24:00Z', 8_640_000_000_000])
    expect((await delegate(scene, scene.user, time)).status).toBe(201)
})
