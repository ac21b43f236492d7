import { expect, test } from 'vitest'
import { writtenMessage } from '../../../sandbox/proxy/messages.js'
import { matchCall } from '../../../sandbox/proxy/profile.js'
import { ProxyRecord } from '../../../sandbox/proxy/proxy-record.js'
import { payProfile } from './proxied.js'

/** Long bodies that are made to take long. */

const LONG = 250_000

const json = 'application/json'
const form = 'application/x-www-form-urlencoded'
const repeated = (part: string, [before, after] = ['', '']) => {
  const room = LONG - before.length - after.length
  return before + part.repeat(Math.floor(room / part.length)) + after
}
const texts: [string, string] = ['{"a":"', '"}']

test.each<[string, string, string]>([
  ['many names', form, Array.from({ length: 30_000 }, (_, at) => `a${at}=`).join('&')],
  ['one name', form, repeated('a=&')],
  ['one long name', form, repeated('a')],
  ['deep', json, '['.repeat(LONG / 2) + ']'.repeat(LONG / 2)],
  ['many numbers', json, repeated('1,', ['[', '1]'])],
  ['a word', json, repeated('a', texts)],
  ['words', json, repeated('a_secret', texts)],
  ['begins of tokens', json, repeated('eyJ-', texts)],
  ['begins of keys', json, repeated('sk_live_', texts)],
  ['hex', json, repeated('0x', texts)],
  ['digits', json, repeated('42 ', texts)],
  ['capitals', json, `{"${'aA'.repeat(120_000)}":"a"}`],
])('%s', (_, type, body) => {
  const message = { headers: { 'content-type': type }, body: Buffer.from(body) }
  const record = new ProxyRecord(payProfile, true)
  const began = process.cpuUsage()
  const call = record.begin(matchCall(payProfile, 'POST', '/pay'), 'POST', undefined)
  record.sent(call, message, '/pay')
  record.answered(call, 200, message)()
  const { user } = process.cpuUsage(began)
  expect(writtenMessage('200', message).length).toBeLessThan(12_000)
  // In microseconds. What takes quadratic time takes far longer.
  expect(user).toBeLessThan(5_000_000)
})
