import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterEach, expect, test, vi } from 'vitest'
import { smtpMailer } from '../../adapters/smtp.js'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

/** A mail server that keeps what it takes; `refuse` says what it does not. */
async function mailServer(refuse: () => Error | undefined = () => undefined) {
  const taken: { to: string[]; text: string }[] = []
  const server = new SMTPServer({
    authOptional: true,
    onAuth: ({ username, password }, _session, done) =>
      password === 'secret' ? done(null, { user: username }) : done(new Error('wrong password')),
    onData(stream, { envelope }, done) {
      let text = ''
      stream.setEncoding('utf8').on('data', (piece) => (text += piece))
      stream.on('end', () => {
        const refused = refuse()
        if (!refused) taken.push({ to: envelope.rcptTo.map(({ address }) => address), text })
        done(refused)
      })
    },
    disabledCommands: ['STARTTLS'],
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push({ close: () => new Promise<void>((resolve) => server.close(resolve)) })
  const { port } = server.server.address() as AddressInfo
  return { taken, host: `127.0.0.1:${port}` }
}

function mailer(url: string) {
  const made = smtpMailer({ url, from: 'Farthing <pay@example.test>' })
  open.push(made)
  return made
}

const mail = { id: '7', to: 'ada@example.test', subject: 'Your code: ä', text: 'It is 123456.\n.\nEnd' }

test('sends a mail unchanged, always with the same id', async () => {
  const { taken, host } = await mailServer()
  const { send } = mailer(`smtp://pay:secret@${host}`)
  await send(mail)
  await send(mail)
  expect(taken).toHaveLength(2)
  const [{ to, text }] = taken as [(typeof taken)[0]]
  expect(to).toEqual(['ada@example.test'])
  expect(text).toContain('From: Farthing <pay@example.test>')
  expect(text).toMatch(/^To: <?ada@example\.test>?\r$/m)
  expect(text).toContain('Subject: =?UTF-8?Q?Your_code=3A_=C3=A4?=')
  expect(text).toMatch(/\r\n\r\nIt is 123456\.\r\n\.\r\nEnd\r\n$/)
  for (const each of taken) expect(each.text).toContain('Message-ID: <farthing.7@example.test>')
})

test('keeps addresses and subjects out of other headers, and adds nobody to the envelope', async () => {
  const { taken, host } = await mailServer()
  const hostile = {
    ...mail,
    to: 'ada@example.test\r\nBcc: eve@example.test',
    subject: 'Hello\r\nBcc: eve@example.test',
  }
  await mailer(`smtp://${host}`)
    .send(hostile)
    .catch(() => {})
  expect(taken.flatMap(({ to }) => to)).not.toContain('eve@example.test')
  for (const { text } of taken) expect(text).not.toMatch(/^Bcc:/m)
})

test('rejects if the server refuses, the password is wrong or nobody listens', async () => {
  const { host } = await mailServer(() => new Error('the mailbox is full'))
  await expect(mailer(`smtp://${host}`).send(mail)).rejects.toThrow('the mailbox is full')
  await expect(mailer(`smtp://pay:wrong@${host}`).send(mail)).rejects.toThrow(/wrong password/)
  await expect(mailer('smtp://127.0.0.1:1').send(mail)).rejects.toThrow(/ECONNREFUSED/)
})

test('a service retries a mail that the server refused, until it is sent once', async () => {
  let full = true
  const { taken, host } = await mailServer(() => (full ? new Error('try again later') : undefined))
  const service = createService({ sandbox: true, mailer: mailer(`smtp://${host}`), log: { error: () => {} } })
  open.push(service)
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  await service.sandbox.setClock({ mode: 'manual' })
  await call('POST', '/v4/session/code', { body: { email: 'ada@example.test' } })
  await service.sandbox.advance('1s')
  expect(taken).toHaveLength(0)
  full = false
  await service.sandbox.advance('1h')
  await vi.waitUntil(() => taken.length > 0)
  await service.sandbox.advance('1d')
  expect(taken).toHaveLength(1)
  expect(taken[0]?.text).toContain((await service.sandbox.outbox()).messages[0]?.codes[0])
})
