import { newGuest } from '../../support/scenes/sign-in.js'
import { hold } from '../properties/broken.js'
import type { World } from '../world.js'
import { type Act, callAs, tolerantly } from './act.js'

/** People who look around, sign in and out, and look at what is not theirs. */

const documents: Act = {
  weight: 3,
  async run(world, draws) {
    const [ware] = world.cast.wares
    const seller = world.cast.sellers[0]
    const paths = [
      ...['/docs/errors', '/docs/errors/nonce_used', '/healthz', '/readyz', '/metrics', '/micropay.js'],
      ...[`/v4/embed/${ware?.hash}`],
      ...['/v4/dq', '/v2/twin/dq', '/v4/catalog/items?query=weather&limit=2', '/v4/billing/plans'],
      ...['/_sandbox/health', '/_sandbox/coverage', '/_sandbox/test-values', '/_sandbox/clock', '/_sandbox/ledger'],
      `/.well-known/oauth-protected-resource/mcp/${seller?.id}`,
    ]
    for (let times = draws.between(4, 8); times > 0; times--) await world.call('GET', draws.pick(paths))
    // It is made anew for each process, which takes long.
    if (draws.oneIn(10)) await world.call('GET', '/v4/openapi.json')
  },
}

const peek: Act = {
  weight: 3,
  async run(world, draws) {
    const reader = draws.pick(world.cast.readers)
    const other = draws.pick([...world.cast.readers, ...world.cast.sellers].filter((each) => each !== reader))
    const { status, body } = await world.call('GET', `/v4/twin/${other.hostname}`, { by: reader })
    if (status === 200) hold(body.key === undefined && body.balances === undefined, 'A balance is its owner’s', body)
    const own = await world.call('GET', `/v4/twin/${reader.hostname}`, { by: reader })
    if (own.status === 200) hold(Object.keys(own.body.balances ?? {}).length > 0, 'An owner sees the balance', own.body)
    await world.call('GET', '/v4/twins?limit=3', { by: reader })
    await world.call('GET', `/v4/user/${reader.id}`, { by: reader })
    const { status: seen } = await world.call('GET', `/v4/user/${other.id}`, { by: reader })
    hold(seen !== 200 || other.email === '', 'Nobody reads another user', [reader.name, other.name])
    const seller = draws.pick(world.cast.sellers)
    for (const path of ['/v4/account', '/v2/users?limit=2']) await world.call('GET', path, { by: seller })
  },
}

/** Signs in by a mailed code. A code works once. */
const signIn: Act = {
  weight: 4,
  async run(world, draws) {
    const email = draws.pick([...world.cast.readers.map((each) => each.email), `guest-${draws.below(3)}@example.test`])
    await tolerantly(world, 'a guest', async () => {
      const session = await newGuest(callAs(world))
      await world.call('POST', '/v4/session/code', { session, body: { email }, tries: 3 })
      const code = await mailedCode(world, email)
      if (code === undefined) return
      const verify = async (own: string, name: string) => {
        const { status, body } = await world.call('POST', '/v4/session/verify', { session: own, body: { email, code } })
        if (status !== 200) return undefined
        world.records.use(`code ${code} of ${email} in ${session}`, name)
        return body.session_id as string
      }
      const both = await Promise.all([
        verify(session, 'the first try'),
        ...(draws.oneIn(2) ? [verify(session, 'the second try')] : []),
      ])
      const own = both.find((each) => each !== undefined)
      if (own === undefined) return
      const { body } = await world.call('GET', '/v4/sessions?limit=3', { session: own })
      if (draws.oneIn(3)) await world.call('DELETE', `/v4/sessions/${body?.sessions?.[0]?.id}`, { session: own })
      if (draws.oneIn(2)) await world.call('DELETE', '/v4/session', { session: own })
    })
  },
}

/** The code of the last mail to an address, once it has come. */
async function mailedCode({ outside, timeline }: World, email: string): Promise<string | undefined> {
  for (let tries = 0; tries < 20; tries++) {
    const mail = outside.mails.findLast(({ to, text }) => to === email && /\b\d{6}\b/.test(text))
    if (mail) return /\b\d{6}\b/.exec(mail.text)?.[0]
    await timeline.wait(300)
  }
  return undefined
}

/** Claims what someone sent to an email. */
const claim: Act = {
  weight: 4,
  async run(world, draws) {
    const from = draws.pick(world.cast.readers)
    await tolerantly(world, 'a friend', async () => {
      const email = `friend-${draws.below(1000)}@example.test`
      const body = { address: email, amount: 0.5 }
      const asked = world.ask(`${from.name} invites ${email}`)
      const { status, body: sent } = await world.call('POST', '/v4/transfer', { by: from, asked, body })
      if (status !== 201) return
      const made = await world.call('POST', '/_sandbox/seed', { body: { users: [{ email }] }, tries: 3 })
      const { client_id, client_secret } = made.body.users[0]
      const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
      const token = (await world.call('POST', '/v4/user/oauth/token', { headers, tries: 3 })).body.access_token
      const take = async () => {
        const key = world.ask(`${email} claims ${sent.id}`)
        const told = await world.call('POST', `/v4/transfers/${sent.id}/claim`, { token, asked: key })
        if (told.status === 200) world.records.use(`transfer ${sent.id}`, key.key)
      }
      const cancel = async () => {
        const key = world.ask(`${from.name} cancels ${sent.id}`)
        const told = await world.call('POST', `/v4/transfers/${sent.id}/cancel`, { by: from, asked: key })
        if (told.status === 200) world.records.use(`transfer ${sent.id}`, key.key)
      }
      await Promise.all([take(), ...(draws.oneIn(3) ? [cancel()] : []), ...(draws.oneIn(3) ? [take()] : [])])
    })
  },
}

/** A seller makes a business of their own, and looks after its tokens. */
const business: Act = {
  weight: 2,
  async run(world, draws) {
    const body = { dq: world.cast.dq, email: `owner-${draws.below(1000)}@example.test` }
    const { status, body: made } = await world.call('POST', '/v4/account/register', { body })
    if (status !== 201) return
    const { client_id, client_secret } = made.account.secrets[1]
    const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
    const { body: tokens } = await world.call('POST', '/v4/account/oauth/token', { headers, tries: 3 })
    if (!tokens?.refresh_token) return
    let uses = 0
    const refresh = async () => {
      const told = await world.call('POST', '/v4/account/oauth/token', { token: tokens.refresh_token })
      if (told.status === 200) world.records.use(`refresh token ${tokens.refresh_token}`, `refresh ${++uses}`)
    }
    await Promise.all([refresh(), refresh()])
    await refresh()
  },
}

/** A delegate spends for a reader, at most what the reader allows. */
const delegate: Act = {
  weight: 6,
  async run(world, draws) {
    const owner = draws.pick(world.cast.readers)
    const seller = draws.pick(world.cast.sellers)
    await tolerantly(world, 'a delegate', async () => {
      const { body: twin } = await world.call('GET', `/v4/twin/${owner.hostname}`, { by: owner })
      const persona = { name: 'Reader', twin_id: twin.id }
      const { hash } = (
        await world.call('POST', '/v4/persona', { by: owner, asked: world.ask('a persona'), body: persona })
      ).body
      await world.call('GET', `/v4/verify/embed/${hash}`)
      const limit = 0.6
      const spend = { party: { client_id: seller.clientId }, dq: world.cast.dq, limit }
      const given = { hostname: seller.hostname, spend }
      const asked = world.ask('a delegate')
      const made = await world.call('POST', `/v4/persona/${hash}/delegate`, { by: owner, asked, body: given })
      if (made.status !== 201) return
      let spent = 0
      const buy = async () => {
        const serviceUrl = 'https://api.example.test/story/ok'
        const body = { amount: 0.25, destination: seller.hostname, serviceUrl, persona_delegate: made.body.hash }
        const key = world.ask(`the delegate of ${owner.name} spends`)
        const told = await world.call('POST', '/v4/paywall', { by: seller, asked: key, body })
        if (told.status === 200) spent += 0.25
      }
      await Promise.all([buy(), buy(), buy(), ...(draws.oneIn(2) ? [buy()] : [])])
      hold(spent <= limit, 'A delegate spends at most its limit', { spent, limit })
    })
  },
}

/** A reader registers a phone, and gives it up. */
const phone: Act = {
  weight: 2,
  async run(world, draws) {
    const by = draws.pick(world.cast.readers)
    const body = { platform: 'ios', token: `phone-${draws.below(1000)}` }
    const made = await world.call('POST', '/v4/notifications/registrations', { by, body })
    if (made.status !== 201) return
    await world.call('GET', '/v4/notifications/registrations?limit=2', { by })
    await world.call('DELETE', `/v4/notifications/registrations/${made.body.id}`, { by })
  },
}

export const visitActs = { documents, phone, peek, signIn, claim, business, delegate }
