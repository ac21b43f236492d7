import { expect, onTestFinished, test } from 'vitest'
import { createService, type ServiceOptions } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { askCode, mailedCode, newGuest, verify } from '../support/scenes/sign-in.js'
import { newPayer, newSeller } from '../support/scenes/world.js'

/** The event of a mail whose delivery ends before its address is proven, or after that. */

const EMAIL = 'ada@example.test'

function start(mailer: ServiceOptions['mailer'] & object) {
  const service = createService({ sandbox: true, mailer })
  onTestFinished(() => service.close())
  return caller({ url: service.baseUrl, fetch: service.fetch })
}

async function signIn(call: Call): Promise<string> {
  const guest = await newGuest(call)
  await askCode(call, guest, EMAIL)
  return (await verify(call, guest, EMAIL, await mailedCode(call, EMAIL))).body.session_id
}

/** The subjects of events of mails, newest first. */
const mailsSeen = async (call: Call, session: string): Promise<string[]> =>
  (await call('GET', '/v4/events?type=email.sent', { session })).body.events.map(
    ({ subject }: { subject: string }) => subject,
  )

const statusOf = async (call: Call) =>
  (await call('GET', `/_sandbox/outbox?to=${EMAIL}&kind=mail`)).body.messages.at(-1).status

test('the mail of a first code that arrives after the sign-in has one event', async () => {
  let arrive = () => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const texts: string[] = []
  const call = start({
    send({ text }) {
      texts.push(text)
      return arrived
    },
  })
  const guest = await newGuest(call)
  await askCode(call, guest, EMAIL)
  // The outbox would wait for the delivery.
  await expect.poll(() => texts).toHaveLength(1)
  const [code = ''] = texts[0]?.match(/\d{6}/) ?? []
  const session = (await verify(call, guest, EMAIL, code)).body.session_id
  expect(await mailsSeen(call, session)).toEqual([])
  arrive()
  await expect.poll(() => mailsSeen(call, session)).toHaveLength(1)
})

test('the mails that arrived before it have one event each, once the user has proven the address', async () => {
  const call = start({ send: async () => {} })
  const seller = await newSeller(call)
  // Who makes a user sees none of their mails.
  const made = await newPayer(call, seller, { email: EMAIL })
  const guest = await newGuest(call)
  await askCode(call, guest, EMAIL)
  await expect.poll(() => statusOf(call)).toBe('sent')
  const own = (await call('GET', '/v4/events?type=email.sent', { token: made.token })).body.events
  expect(own).toEqual([])
  const session = await signIn(call)
  await expect.poll(() => mailsSeen(call, session)).toHaveLength(2)
  const before = await mailsSeen(call, session)
  expect(new Set(before).size).toBe(before.length)
  // A later sign-in adds its own mail alone.
  const again = await signIn(call)
  await expect.poll(async () => (await mailsSeen(call, again)).length).toBeGreaterThan(before.length)
  expect((await mailsSeen(call, again)).slice(-2)).toEqual(before)
})
