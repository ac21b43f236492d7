import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bodyKeyProfile, listening } from '../sandbox/rehearse/proxied.js'
import { cli } from '../support/cli.js'
import { runHere } from '../support/run-here.js'
import { smallFetch } from '../support/small-fetch.js'
import { startHere } from '../support/start-here.js'

const farthing = cli()
const inDirectory = (file: string) => join(farthing.directory, file)

const NOTE = 'note-secret-5f21'

/** A service that takes each key once, and repeats its answer. */
async function startPayments(): Promise<string> {
  const payments = new Map<string, string>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += piece
    const { key } = JSON.parse(body)
    const id = payments.get(key) ?? `pay_${payments.size + 1}`
    payments.set(key, id)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ id, status: 'paid', note: NOTE }))
  })
  const port = await listening(server)
  onTestFinished(() => server.closeAllConnections())
  return `http://127.0.0.1:${port}`
}

/** Pays with one key for all tries. `key`: where it gets that from. */
const paying = (key: string) => `${smallFetch}
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
const file = new URL('key.txt', import.meta.url)
const key = ${key}
writeFileSync(file, key)
for (let left = 4; left > 0; left--)
  try {
    const answer = await fetch(process.env.SHOP_API + '/payments', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key, article: 'a', amount: 5, note: '${NOTE}' }),
    })
    if (answer.status === 503) continue
    console.log((await answer.json()).status)
    rmSync(file)
    process.exit(0)
  } catch {}
process.exit(1)
`
const REMEMBERED = "existsSync(file) ? readFileSync(file, 'utf8') : randomUUID()"

async function rehearsed(script: string, flags: readonly string[]) {
  await writeFile(inDirectory('shop.json'), JSON.stringify(bodyKeyProfile))
  await writeFile(inDirectory('pay.mjs'), script)
  const to = ['--to', await startPayments(), '--profile', inDirectory('shop.json'), '--slow', '30']
  const command = ['--', process.execPath, inDirectory('pay.mjs')]
  return { to, ...(await runHere(['rehearse', ...to, ...flags, ...command], farthing.directory)) }
}

describe('rehearse --restart --to stops the command after a payment, and starts it again', () => {
  const options = ['--restart', '--budget', '9']

  test('which pays twice if it forgets its key', async () => {
    const { code, stdout, to } = await rehearsed(paying('randomUUID()'), [...options, '--json'])
    const { findings, flags } = JSON.parse(stdout)
    expect(findings).toMatchObject([
      { verdict: 'paid_twice', habit: 'new_key_each_try', payments: 2, plan: [{ kind: 'restart', operation: 'pay' }] },
    ])
    expect(flags).toEqual([...to, '--restart'])
    expect(code).toBe(1)
  })

  test('which pays once if it remembers its key', async () => {
    const { code, stdout } = await rehearsed(paying(REMEMBERED), options)
    expect(stdout).toMatch(/^No fault of the client in 9 runs of \d+ plans\.\n$/)
    expect(code).toBe(0)
  })
})

test('rehearse --keep-messages --url prints the messages, and keeps none in the sandbox that shows it', async () => {
  const sandbox = await startHere({ memory: true, controlToken: 'control' })
  const watching = ['--url', sandbox.url, '--control-token', 'control']
  const options = ['--keep-messages', '--budget', '4', '--json']
  const newKeys = paying("''").replace('{ key, article', '{ key: randomUUID(), article')
  const { code, stdout, stderr, to } = await rehearsed(newKeys, [...watching, ...options])
  expect(code).toBe(1)
  expect(stderr).not.toContain('did not keep the report')
  expect(JSON.parse(stdout).findings[0].messages.join('\n')).toContain(NOTE)
  const [, id = ''] = /#\/rehearse\/(\S+)/.exec(stderr) ?? []
  const headers = { authorization: 'Bearer control' }
  const text = await fetch(`${sandbox.url}/_sandbox/rehearsals/${id}`, { headers }).then((answer) => answer.text())
  expect(text).not.toContain(NOTE)
  const kept = JSON.parse(text)
  expect(kept).toMatchObject({ running: false, runs: 4, findings: [{ verdict: 'paid_twice', operation: 'pay' }] })
  expect(kept.flags).toEqual(to)
  expect(kept.findings[0]).not.toHaveProperty('messages')
})
