import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Served, serve } from '../../adapters/node.js'
import { program } from '../../sandbox/program.js'
import { demo } from '../../sandbox/seed/demo.js'
import { createService, type Service } from '../../src/index.js'
import { runHere } from '../support/run-here.js'

let service: Service
let served: Served
let sent: string

beforeAll(async () => {
  service = createService({ sandbox: true, seed: demo.seed })
  served = await serve(service)
  const { headers } = await service.sandbox.signIn(demo.payer.email)
  const paid = await service.fetch(`/v4/payment/${demo.commodities.article}`, { method: 'POST', headers })
  sent = paid.headers.get('x-request-id') ?? ''
})

afterAll(async () => {
  await served.close()
  await service.close()
})

const REQUESTS = 'choose one from farthing requests, or last or last-error'
const LAST = `${REQUESTS}. Did you mean "last"?`

/** By command: what a user may write wrong, where it stands, and what the command says then. `ID` is a request that is there. */
const wrong: Readonly<Record<string, readonly (readonly [where: string, args: string, says: string])[]>> = {
  requests: [
    ['id', 'lst', LAST],
    ['id', 'req_gone_0000001', 'The journal has no entry with this id'],
    ['--operation', '--operation createPaymet', 'Did you mean "createPayment"?'],
    ['--operation', '--operation createPaymet --follow', 'Did you mean "createPayment"?'],
    ['--operation', '--operation createPaymet --as curl', 'Did you mean "createPayment"?'],
    ['--operation', '--operation createPaymet --as curl --from ID --to ID', 'Did you mean "createPayment"?'],
    ['--operation', '--operation sweeep', 'Did you mean "sweep"?'],
    ['--operation', '--operation webhok', 'Did you mean "webhook"?'],
    ['--operation', '--operation nothing-like-it', 'is no operation, no timer and no kind of message'],
    ['--status', '--status 4xx', '--status must be a number'],
    ['--status', '--status 4022', '"status" must be at most 599'],
    ['--status', '--status 20 --follow', '"status" must be at least 100'],
    ['--principal', '--principal usr:1', '"principal" must be guest, or a caller such as account:1'],
    ['--principal', '--principal payer@example.test --follow', '"principal" must be guest, or a caller'],
    ['--limit', '--limit many', '--limit must be a number'],
    ['--as', '--as crul', 'Allowed choices are curl, http, har, vitest'],
    ['--from', '--as curl --from lst', LAST],
    ['--to', '--as curl --to req_gone_0000001', 'The journal has no entry with one of these ids'],
  ],
  explain: [
    ['id', 'nonce_usd', 'Did you mean "nonce_used"?'],
    ['id', 'last-eror', `${REQUESTS}. Did you mean "last-error"?`],
  ],
  replay: [
    ['id', 'lst', LAST],
    ['--in', 'ID --in frk', 'Allowed choices are fork, place'],
  ],
  listen: [
    ['--events', '--events payment.craeted', 'Did you mean "payment.created"?'],
    ['--events', '--events paymnt.*', 'Did you mean "payment.*"?'],
    ['--forward-to', '--forward-to localhost:3000', '--forward-to must begin with http'],
    ['--secret', '--secret hush', '--secret signs what is forwarded'],
    ['--secret', '--secret hush --forward-to http://127.0.0.1:9', '--secret must be "whsec_"'],
    ['--client-id', '--client-id mid_wrong', 'Name its credentials with --client-id and --client-secret'],
    ['--client-secret', '--client-secret mc_wrong', 'Name its credentials with --client-id and --client-secret'],
  ],
  trigger: [
    ['type', 'payment.craeted', 'Did you mean "payment.created"?'],
    ['--client-id', 'payment.created --client-id mid_wrong', 'Name its credentials with --client-id'],
    ['--client-secret', 'payment.created --client-secret mc_wrong', 'Name its credentials with --client-id'],
  ],
  fund: [
    ['whom', 'no-such.twin.localhost 1', 'refused fund'],
    ['whom', 'nobody@example.test 1', 'refused fund'],
    ['whom', '0x12 1', 'refused fund'],
    ['amount', `${demo.reader.email} much`, 'the amount must be a number'],
    ['--dq', `${demo.reader.email} 1 --dq USDX`, 'refused fund'],
  ],
  x402: [['what', 'evn', 'Allowed choices are env']],
  reset: [],
}

const rows = Object.entries(wrong).flatMap(([command, each]) => each.map((row) => [command, ...row] as const))

test.each(rows)(
  'farthing %s: a wrong %s in "%s" is refused, and the answer says what to do',
  async (command, _, args, says) => {
    const given = args.split(' ').map((arg) => (arg === 'ID' ? sent : arg))
    const { code, stdout, stderr } = await runHere([command, ...given, '--url', served.url])
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(says) })
    expect(stderr).toMatch(/^farthing: .*\n$/)
  },
)

describe('the table has', () => {
  /** Any text may be right. */
  const free = ['--q', '--url', '--control-token']
  const asking = program().commands.filter(({ options }) => options.some(({ long }) => long === '--url'))
  const withOwnSandbox = ['rehearse', 'mcp']

  test('each command that asks a running service', () => {
    const names = asking.map((command) => command.name())
    expect(Object.keys(wrong).sort()).toEqual(names.filter((name) => !withOwnSandbox.includes(name)).sort())
  })

  test.each(Object.keys(wrong))('everything that a user names for farthing %s', (name) => {
    const command = asking.find((each) => each.name() === name)
    const options = command?.options.flatMap(({ long, required }) => (required && long ? [long] : [])) ?? []
    const places = [...options, ...(command?.registeredArguments ?? []).map((each) => each.name())]
    const known = wrong[name]?.map(([where]) => where) ?? []
    expect(places.filter((place) => !known.includes(place) && !free.includes(place))).toEqual([])
  })
})
