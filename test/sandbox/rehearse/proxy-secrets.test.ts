import { describe, expect, test } from 'vitest'
import { writtenMessage, writtenPath } from '../../../sandbox/proxy/messages.js'
import { matchCall } from '../../../sandbox/proxy/profile.js'
import { proxyStage } from '../../../sandbox/proxy/proxy.js'
import { ProxyRecord } from '../../../sandbox/proxy/proxy-record.js'
import { rehearseOn } from '../../../src/sandbox/rehearse/rehearse-stage.js'
import {
  diagramOf,
  rehearsalHtml,
  rehearsalJson,
  rehearsalJUnit,
  rehearsalTest,
  showRehearsal,
} from '../../../src/sandbox/rehearse/report.js'
import { payProfile, startProxy, startService } from './proxied.js'

/** What a proxy keeps of messages: hashes, amounts and outcomes, unless it is asked for more, and secrets never. */

const card = '4242 4242 4242 4242'
/** What signs, and what pays. */
const secrets = {
  bearer: 'bearer-of-theirs-1',
  cookie: 'cookie-of-theirs-22',
  apiKey: 'api-key-of-theirs-33',
  card,
  cvc: 'cvc-of-theirs',
  clientSecret: 'pi_3Abc_secret_9xYz',
  setCookie: 'set-cookie-of-theirs',
  queryToken: 'token-of-theirs-44',
  live: 'sk_live_51HxOfTheirs',
}
/** What says who buys what. */
const contents = {
  header: 'header-of-theirs-5',
  note: 'note-of-theirs-<b>66',
  order: 'order7of9theirs',
  answer: 'answer-of-theirs-77',
  answerHeader: 'answer-header-of-theirs-8',
  query: 'query-of-theirs-9',
}

/** Rehearses a client that takes a new key for each try, before a service that repeats what it was sent. */
async function reportsOf(keepMessages: boolean) {
  const { url } = await startService((response, { headers }) => {
    const { bearer, clientSecret, setCookie } = secrets
    response.writeHead(200, { 'set-cookie': `s=${setCookie}`, 'x-answer': contents.answerHeader })
    const said = { client_secret: clientSecret, message: `for ${bearer}: ${contents.answer}`, sent: headers['x-order'] }
    response.end(JSON.stringify({ id: `p${Math.random()}`, status: 'paid', ...said }))
  })
  const lines: string[] = []
  const { proxy } = await startProxy(url, {
    ...{ keepMessages, profile: { ...payProfile, payer: ['/buyer'], calls: { pay: { request: 'POST /:order/pay' } } } },
    onCall: (call) => void lines.push(diagramOf(call)),
  })
  const keys: string[] = []
  const run = async (to: string) => {
    for (let left = 3; left > 0; left--)
      try {
        keys.push(crypto.randomUUID())
        const answer = await fetch(`${to}/${contents.order}/pay?token=${secrets.queryToken}&a=${contents.query}`, {
          method: 'POST',
          headers: {
            ...{
              authorization: `Bearer ${secrets.bearer}`,
              cookie: `a=${secrets.cookie}`,
              'x-api-key': secrets.apiKey,
            },
            ...{ 'x-theirs': contents.header, 'idempotency-key': keys.at(-1) ?? '' },
          },
          body: JSON.stringify({
            ...{ amount: 5, buyer: 'buyer-of-theirs-1', note: contents.note },
            ...{ card: { number: card, cvc: secrets.cvc }, said: `with ${card}`, keys: [secrets.live] },
          }),
        })
        if (answer.ok) return { ended: { isOk: true, result: 'done' }, output: `${secrets.cookie} ${secrets.apiKey}` }
      } catch {}
    throw new Error('it gave up')
  }
  const rehearsal = await rehearseOn(proxyStage(proxy, run), { runs: 4 })
  expect(rehearsal.findings.map(({ name }) => name)).toEqual(['leaked_secret', 'paid_twice'])
  const reports = [rehearsalJson, rehearsalJUnit, rehearsalHtml, showRehearsal].map((report) => report(rehearsal))
  return {
    reports,
    all: [...reports, rehearsalTest(rehearsal, ['a']), JSON.stringify(rehearsal), lines.join('\n')],
    keys,
  }
}

test('without being asked, nothing of a message is in what is written', async () => {
  const { all, keys } = await reportsOf(false)
  const texts = [...Object.values(secrets), ...Object.values(contents), ...keys, 'buyer-of-theirs-1', 'note-of-theirs']
  for (const written of all) for (const text of texts) expect(written).not.toContain(text)
  expect(all[0]).toContain('sha256:')
})

test('when it is asked, the reports have the messages, without secrets', async () => {
  const { reports, all, keys } = await reportsOf(true)
  const { header, order, answer, answerHeader, query } = contents
  for (const report of reports)
    for (const text of [header, order, answer, answerHeader, query, 'buyer-of-theirs-1', 'note-of-theirs'])
      expect(report).toContain(text)
  for (const written of all)
    for (const text of [...Object.values(secrets), ...keys]) expect(written).not.toContain(text)
  expect(reports[2]).not.toContain('<b>')
})

test.each([
  ['authorization', 'Bearer token-of-theirs', 'token-of-theirs', true],
  ['authorization', 'token-of-theirs-alone', 'token-of-theirs-alone', true],
  ['authorization', `Basic ${btoa('user:password-of-theirs')}`, 'password-of-theirs', true],
  ['cookie', 'a=1; b=cookie-of-theirs', 'cookie-of-theirs', true],
  ['x-api-key', 'api-key-of-theirs', 'api-key-of-theirs', true],
  // Too short to tell it from a word.
  ['x-api-key', 'key', 'key', false],
  ['x-other', 'value-of-theirs', 'value-of-theirs', false],
])('%s: %s in the output is seen: %s, %s', (name, value, printed, isSeen) => {
  const record = new ProxyRecord(payProfile, false)
  const call = record.begin(matchCall(payProfile, 'GET', '/a'), 'GET', undefined)
  record.sent(call, { headers: { [name]: value }, body: undefined }, '/a')
  const run = record.result({ ended: { isOk: true, result: printed }, output: `it is ${printed}` })
  expect(run.secrets).toEqual(isSeen ? ['[redacted]'] : [])
  expect(JSON.stringify(run).includes(printed)).toBe(!isSeen)
})

describe('a message that is kept', () => {
  const HIDDEN = '[redacted]'
  const json = (body: string) =>
    writtenMessage('200', { headers: {}, body: Buffer.from(body) }).replace(/^200\n\n?/, '')

  test.each([
    ['{"amount":2000,"status":"paid","id":"pi_1"}', '{"amount":2000,"status":"paid","id":"pi_1"}'],
    ['{"client_secret":"a"}', `{"client_secret":"${HIDDEN}"}`],
    ['{"clientSecret":"a","accessToken":"b"}', `{"clientSecret":"${HIDDEN}","accessToken":"${HIDDEN}"}`],
    [
      '{"card":{"number":"1","cvc":123,"exp_month":1}}',
      `{"card":{"number":"${HIDDEN}","cvc":"${HIDDEN}","exp_month":1}}`,
    ],
    ['{"credentials":{"user":"a","list":["b"]}}', `{"credentials":{"user":"${HIDDEN}","list":["${HIDDEN}"]}}`],
    ['{"payload":{"signature":"0x1"}}', `{"payload":{"signature":"${HIDDEN}"}}`],
    ['{"a":4242424242424242}', `{"a":"${HIDDEN}"}`],
    ['{"a":"4242-4242-4242-4242."}', `{"a":"${HIDDEN}."}`],
    ['{"message":"Invalid key: sk_test_51Abcdef"}', `{"message":"Invalid key: ${HIDDEN}"}`],
    ['{"next":"https://a/?payment_intent_client_secret=pi_1_secret_2"}', /pi_1_secret_2/],
    ['{"a":"eyJhbGciOiJub25lIn0.eyJhIjoxfQ.c2ln"}', `{"a":"${HIDDEN}"}`],
    [`{"sk_live_51Abcdefgh":1}`, `{"${HIDDEN}":1}`],
    ['{"idempotency_key":"a"}', /"a"/],
    ['{"created":1700000000000}', '{"created":1700000000000}'],
    ['<number>4242424242424242</number>', '[a body that is neither JSON nor a form]'],
    ['{"client_secret":"a"', '[a body that is neither JSON nor a form]'],
  ])('%s', (body, shown) => {
    if (shown instanceof RegExp) expect(json(body)).not.toMatch(shown)
    else expect(json(body)).toBe(shown)
  })

  test.each([
    ['authorization', 'Basic YTpi', HIDDEN],
    ['proxy-authorization', 'a', HIDDEN],
    ['cookie', 'a=b', HIDDEN],
    ['x-api-key', 'a', HIDDEN],
    ['apikey', 'a', HIDDEN],
    ['stripe-signature', 't=1', HIDDEN],
    ['payment-signature', 'a', HIDDEN],
    ['x-auth-token', 'a', HIDDEN],
    ['x-csrf-token', 'a', HIDDEN],
    ['x-vault-key', 'a', HIDDEN],
    ['stripe-version', '2024-06-20', '2024-06-20'],
    ['stripe-account', 'acct_1', 'acct_1'],
    ['x-request-id', 'req_1', 'req_1'],
    ['content-type', 'application/json', 'application/json'],
  ])('header %s', (name, value, shown) => {
    expect(writtenMessage('200', { headers: { [name]: value }, body: Buffer.alloc(0) })).toBe(`200\n${name}: ${shown}`)
  })

  test('has the begin of a long body', () => {
    const shown = json(JSON.stringify({ a: 'b '.repeat(500_000 / 2 - 10) }))
    expect(shown).toMatch(/^\{"a":"b b .{9000,10000}…$/)
  })

  test('has a form, and a path with its query', () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = Buffer.from('amount=5&card[number]=1&card%5Bcvc%5D=2&payment_method_data[card][number]=3&a=b%26c')
    expect(writtenMessage('POST /a', { headers, body }).split('\n').at(-1)).toBe(
      `amount=5&card[number]=${HIDDEN}&card[cvc]=${HIDDEN}&payment_method_data[card][number]=${HIDDEN}&a=b&c`,
    )
    expect(writtenPath('/a/sk_live_51Abcdefgh?client_secret=a&b=c')).toBe(`/a/${HIDDEN}?client_secret=${HIDDEN}&b=c`)
  })
})
