import { expect, it, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { newOwnAccount, pathOf } from '../support/scenes/account-changes.js'
import { requestApproval } from '../support/scenes/approvals.js'
import {
  type App,
  authorization,
  CALLBACK,
  fill,
  newAgent,
  newApp,
  signInAt,
  startInteraction,
} from '../support/scenes/oidc.js'
import { registerDevice } from '../support/scenes/second-factor.js'
import { newSession } from '../support/scenes/world.js'

// Each test asks for many pages or calls.
vi.setConfig({ testTimeout: 60_000 })

/** Apps whose name looks like the host of another app. */

const HOST = 'slack.example.test'
const DOCUMENT = `https://${HOST}/client.json`

/** Names by which a registered app could pass for the app whose metadata is at `HOST`. */
const names = [
  `Slack (${HOST})`,
  `Slack” of ${HOST}`,
  `Slack of ${HOST}`,
  HOST,
  `https://${HOST}/`,
  `Slack, at ${HOST}`,
]

/** A service that finds the document of `HOST`. */
function start() {
  const metadata = { client_id: DOCUMENT, client_name: 'Slack', redirect_uris: [CALLBACK] }
  const upstream = { fetch: async () => Response.json(metadata) }
  const service = createService({ sandbox: true, storage: memoryStorage(), upstream })
  return { service, call: caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) }) }
}

/** The parts of a page that name the host in an element of its own. */
const hostsIn = (html: string): string[] =>
  [...html.matchAll(/<strong class="host"[^>]*>([^<]*)</g)].map(([, host]) => host ?? '')

/** What a page says outside of quotation marks. */
const saidIn = (html: string): string => html.replace(/<[^>]*>/g, '').replace(/“[^”]*”/g, '“…”')

type Client = Pick<App, 'id'>

const EMAIL = 'grace@example.test'

/** What was pushed to the user's phone last. */
const pushed = async (call: Call): Promise<string> =>
  (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(EMAIL)}&kind=push&limit=1`)).body.messages[0].text

/** Everything by which a user meets an app: each page and message that names it. */
async function meet(call: Call, client: Client): Promise<Record<string, string>> {
  await newOwnAccount(call, EMAIL)
  const path = await startInteraction(call, client)
  const signIn = await call('GET', path)
  const { session } = await signInAt(call, path, EMAIL)
  const consent = await call('GET', path, { session })
  const wrong = new URL(
    (await call('GET', authorization(client, { response_type: 'token' }))).headers.get('location') ?? '',
  )
  const turnedBack = await call('GET', wrong.pathname)
  const { accessToken: token } = await newAgent(call, { app: { ...NO_SECRET, ...client }, session })
  const choice = pathOf((await call('POST', '/v4/agent/account-choice', { token })).body.url)
  const choose = await call('GET', choice, { session })
  const { body: user } = await call('GET', '/v4/session', { session })
  await registerDevice(call, { session })
  await call('GET', choice, { session })
  const choicePush = await pushed(call)
  await call('POST', `/_sandbox/devices/${user.user.id}/reject`, { body: {} })
  const again = await startInteraction(call, client, { prompt: 'consent' })
  await call('GET', again, { session })
  const connectPush = await pushed(call)
  await call('POST', `/_sandbox/devices/${user.user.id}/reject`, { body: {} })
  const asked = await requestApproval(call, { token }, { kind: 'transfer', address: 'bob@example.test', amount: 1 })
  const approval = new URL(asked.body.url).pathname
  const approve = await call('GET', approval, { session })
  await fill(call, approval, session, { answer: 'approve' })
  const texts = { signIn, consent, turnedBack, choose, approve }
  const pages = Object.fromEntries(Object.entries(texts).map(([name, { text }]) => [name, text]))
  return { ...pages, choicePush, connectPush, approvalPush: await pushed(call) }
}

const NO_SECRET = { secret: undefined, registrationToken: '', body: {} }

for (const name of names)
  it(`a registered app that calls itself ${name} shows that host in quotation marks only`, async () => {
    const { call, service } = start()
    const app = await newApp(call, { client_name: name })
    for (const [place, text] of Object.entries(await meet(call, app))) {
      expect(text, place).toContain('“')
      expect([place, hostsIn(text), saidIn(text).includes(HOST)]).toEqual([place, [], false])
    }
    const session = await newSession(call, EMAIL)
    const [connection] = (await call('GET', '/v4/connections', { session })).body.connections
    expect([connection.client_name, connection.client_host]).toEqual([name, null])
    await service.close()
  })

it('an app with a metadata document shows its host apart from its name, everywhere', async () => {
  const { call, service } = start()
  for (const [place, text] of Object.entries(await meet(call, { id: DOCUMENT }))) {
    expect(text, place).toContain('“Slack”')
    if (place.endsWith('Push')) expect(text.split('\n'), place).toContain(`Host of the app: ${HOST}`)
    else expect([place, hostsIn(text)]).toEqual([place, [HOST]])
  }
  const session = await newSession(call, EMAIL)
  const [connection] = (await call('GET', '/v4/connections', { session })).body.connections
  expect([connection.client_name, connection.client_host]).toEqual(['Slack', HOST])
  await service.close()
})
