import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { loadProfile } from '../../sandbox/proxy/profile.js'
import { bodyKeyProfile, listening } from '../sandbox/rehearse/proxied.js'
import { selfSigned } from '../support/certificate.js'
import { cli } from '../support/cli.js'
import { blockTestedBy, readPage } from '../support/docs/markdown.js'
import { howMuch } from '../support/how-much.js'
import { runHere } from '../support/run-here.js'
import { smallFetch } from '../support/small-fetch.js'
import { startStripe } from '../support/stripe/stripe-fake.js'

const farthing = cli()
/** In this process, where the test is not about one. */
const run = (args: readonly string[]) => runHere(args, farthing.directory)
const inDirectory = (file: string) => join(farthing.directory, file)
const stripePackage = pathToFileURL(createRequire(import.meta.url).resolve('stripe')).href

/** A service that echoes what it was asked, and says that it was paid. */
async function startEcho() {
  const requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += piece
    const { method = '', url = '', headers } = request
    requests.push({ method, url, headers, body })
    response.writeHead(200, { 'content-type': 'application/json', 'x-answer': SECRETS.answerHeader })
    response.end(JSON.stringify({ id: `pay_${requests.length}`, status: 'paid', note: SECRETS.answer }))
  })
  const port = await listening(server)
  onTestFinished(() => server.closeAllConnections())
  return { url: `http://127.0.0.1:${port}`, requests }
}

const SECRETS = {
  header: 'header-secret-7c1d9e',
  body: 'body-secret-55aa01',
  answer: 'answer-secret-90bb12',
  answerHeader: 'answer-header-secret-3e4f',
  key: 'key-secret-order-77',
}

/** Pays with a new key for each try. */
const paying = `${smallFetch}
for (let left = 3; left > 0; left--)
  try {
    const answer = await fetch(process.env.SHOP_API + '/payments', {
      method: 'POST',
      headers: { authorization: 'Bearer ${SECRETS.header}', 'content-type': 'application/json' },
      body: JSON.stringify({ key: '${SECRETS.key}' + left, article: 'a', amount: 5, note: '${SECRETS.body}' }),
    })
    if (answer.status === 503) continue
    console.log((await answer.json()).status)
    process.exit(0)
  } catch {}
process.exit(1)
`

async function withFiles(): Promise<readonly string[]> {
  await writeFile(inDirectory('shop.json'), JSON.stringify(bodyKeyProfile))
  await writeFile(inDirectory('pay.mjs'), paying)
  return ['--profile', inDirectory('shop.json'), '--budget', '2', '--slow', '30']
}

/** What a run has written, but for the script that knows the secrets. */
async function written(): Promise<string> {
  const names = (await readdir(farthing.directory)).filter((name) => name !== 'pay.mjs')
  return (await Promise.all(names.map((name) => readFile(inDirectory(name), 'utf8')))).join('\n')
}

describe('rehearse --to', () => {
  test('judges a command before a service of others, and shows nothing of what was sent', async () => {
    const echo = await startEcho()
    const flags = await withFiles()
    const command = ['--', process.execPath, inDirectory('pay.mjs')]
    const files = ['--junit', inDirectory('a.xml'), '--html', inDirectory('a.html')]
    const printed: string[] = []
    for (const format of [
      ['--json', ...files],
      ['--as', 'vitest'],
    ]) {
      const { code, stdout, stderr } = await run(['rehearse', '--to', echo.url, ...flags, ...format, ...command])
      expect(code, stderr).toBe(1)
      printed.push(stdout, stderr)
    }
    expect(JSON.parse(printed[0] ?? '').findings[0]).toMatchObject({
      ...{ verdict: 'paid_twice', habit: 'new_key_each_try', operation: 'pay', payments: 2 },
      plan: [{ kind: 'lost_after', operation: 'pay', nth: 1 }],
    })
    expect(printed[0]).toContain('[posted 5]')
    expect(printed[2]).toContain(JSON.stringify(['--to', echo.url]).slice(1, -1))
    const all = printed.join('\n') + (await written())
    for (const secret of Object.values(SECRETS)) expect(all).not.toContain(secret)
    expect(echo.requests.at(-1)?.headers.authorization).toBe(`Bearer ${SECRETS.header}`)
  })

  test('keeps messages if it is asked to, without what signs them', async () => {
    const echo = await startEcho()
    const flags = await withFiles()
    const { stdout } = await run([
      ...['rehearse', '--to', echo.url, ...flags, '--keep-messages', '--json', '--html', inDirectory('a.html')],
      ...['--', process.execPath, inDirectory('pay.mjs')],
    ])
    for (const text of [stdout, await written()]) {
      expect(text).toContain(SECRETS.body)
      expect(text).toContain(SECRETS.answer)
      expect(text).not.toContain(SECRETS.header)
    }
  })

  test('finds a secret of the service in the output, and does not repeat it', async () => {
    const echo = await startEcho()
    const flags = await withFiles()
    await writeFile(
      inDirectory('pay.mjs'),
      paying.replace('const answer', `console.error('${SECRETS.header}')\nconst answer`),
    )
    const { stdout, stderr } = await run([
      ...['rehearse', '--to', echo.url, ...flags, '--json', '--', process.execPath, inDirectory('pay.mjs')],
    ])
    expect(JSON.parse(stdout).findings.map(({ verdict }: { verdict: string }) => verdict)).toContain('leaked_secret')
    expect(stdout + stderr).not.toContain(SECRETS.header)
  })

  /** Rehearses the script of the guide, changed. */
  async function rehearsedScript(runs: number, change: (script: string) => string) {
    const stripe = await startStripe()
    onTestFinished(() => stripe.close())
    const script = blockTestedBy('test/cli/proxy.test.ts', 'docs/guides/rehearse.md', "from 'stripe'")
    await writeFile(inDirectory('charge.mjs'), change(script.replace("'stripe'", `'${stripePackage}'`)))
    vi.stubEnv('STRIPE_API_KEY', stripe.options.apiKey)
    onTestFinished(() => void vi.unstubAllEnvs())
    const to = ['--to', `http://127.0.0.1:${stripe.options.port}`, '--profile', 'stripe']
    const options = ['--budget', String(runs), '--slow', '30']
    return run(['rehearse', ...to, ...options, '--', process.execPath, inDirectory('charge.mjs')])
  }

  test('finds that the script of the guide pays twice', async () => {
    const { code, stdout } = await rehearsedScript(6, (script) => script)
    const [shown = ''] = /^paid twice\n.*\n/.exec(stdout) ?? []
    expect(readPage('docs/guides/rehearse.md')).toContain(`\n${shown}\`\`\``)
    expect(shown).not.toBe('')
    expect(code).toBe(1)
  })

  test('passes it with the keys that the unmodified package makes', async () => {
    const { code, stdout } = await rehearsedScript(3, (script) =>
      script.replaceAll(', newKey()', '').replace(', maxNetworkRetries: 0', ''),
    )
    expect(stdout).toMatch(/^No fault of the client in 3 runs of \d+ plans\.\n$/)
    expect(code).toBe(0)
  })

  test('takes the profile of the guide', async () => {
    const example = blockTestedBy('test/cli/proxy.test.ts', 'docs/guides/rehearse.md', 'payOrder')
    await writeFile(inDirectory('order.json'), example)
    const { calls } = await loadProfile(inDirectory('order.json'))
    expect(Object.keys(calls)).toEqual(['payOrder'])
  })

  test('refuses what it cannot use with 2', async () => {
    await writeFile(inDirectory('wrong.json'), JSON.stringify({ ...bodyKeyProfile, amuont: ['/amount'] }))
    const to = ['--to', 'http://127.0.0.1:1', '--profile', inDirectory('wrong.json')]
    const { code, stderr } = await run(['rehearse', ...to, '--', 'true'])
    expect(stderr).toContain('amuont is not a field. Did you mean "amount"?')
    expect(code).toBe(2)
  })
})

async function startProxy(args: readonly string[], env: Record<string, string> = {}) {
  const started = farthing.spawn(['proxy', '--json', ...args], { env })
  const { url } = JSON.parse(await started.firstLine())
  return {
    url: url as string,
    async stop() {
      started.child.kill('SIGTERM')
      return started.ended
    },
  }
}

const pay = (url: string, key: string) =>
  fetch(`${url}/payments?a=%20b`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${SECRETS.header}`, 'x-theirs': 'yes' },
    body: JSON.stringify({ key, article: 'a', amount: 5, note: SECRETS.body }),
  })

/** A name of a service, whether its authority is trusted, until when its certificate is valid, and what a proxy answers. */
type TlsCase = readonly [name: string, isTrusted: boolean, until: string | undefined, answer: RegExp]

describe('proxy', () => {
  test('passes requests on, makes one fail, and says at its end who paid twice', async () => {
    const echo = await startEcho()
    await withFiles()
    const flags = ['--profile', inDirectory('shop.json'), '--fault', 'lost_after']
    const proxy = await startProxy(['--to', `${echo.url}/api`, ...flags])
    await expect(pay(proxy.url, 'one')).rejects.toThrow()
    expect(await (await pay(proxy.url, 'two')).json()).toMatchObject({ id: 'pay_2', status: 'paid' })
    expect(echo.requests).toHaveLength(2)
    expect(echo.requests[1]).toMatchObject({ method: 'POST', url: '/api/payments?a=%20b' })
    expect(echo.requests[1]?.headers).toMatchObject({ 'x-theirs': 'yes', host: new URL(echo.url).host })
    const { code, stdout, stderr } = await proxy.stop()
    expect(code).toBe(1)
    const report = JSON.parse(stdout.split('\n')[1] ?? '')
    expect(report).toMatchObject({ ok: false, calls: 2, findings: [{ name: 'paid_twice', habit: 'new_key_each_try' }] })
    for (const secret of Object.values(SECRETS)) expect(stdout + stderr).not.toContain(secret)
  })

  /** What a proxy answers before a service with this certificate, for this name of it, if its authority is trusted or not. */
  async function answeredOverTls(name: string, isTrusted: boolean, until?: string) {
    const { cert, key } = selfSigned({ ...(until !== undefined && { until }) })
    const server = createTlsServer({ cert, key }, (_, response) => void response.end('{"id":"p1","status":"paid"}'))
    const port = await listening(server)
    await withFiles()
    await writeFile(inDirectory('authority.pem'), cert)
    const to = ['--to', `https://${name}:${port}`]
    const env = isTrusted ? { NODE_EXTRA_CA_CERTS: inDirectory('authority.pem') } : {}
    const proxy = await startProxy([...to, '--profile', inDirectory('shop.json')], env)
    const answer = await pay(proxy.url, 'one')
    await proxy.stop()
    return `${answer.status} ${answer.headers.get('proxy-status')} ${(await answer.text()).trim()}`
  }

  const few = [
    ['localhost', true, undefined, /^200 null \{"id":"p1"/],
    [
      'localhost',
      false,
      undefined,
      /^502 farthing; error=tls_certificate_error farthing proxy: The certificate of localhost:\d+ is not trusted: self-signed certificate. To trust the authority that signed it, set NODE_EXTRA_CA_CERTS\.$/,
    ],
  ] as const
  /** What else Node refuses to trust. */
  const others = [
    [
      'localhost',
      true,
      '210101000000Z',
      /^502 farthing; error=tls_certificate_error .* is not trusted: certificate has expired\.$/,
    ],
    [
      '127.0.0.1',
      true,
      undefined,
      /^502 farthing; error=tls_certificate_error .* is not trusted: Hostname\/IP does not match/,
    ],
  ] as const

  test.each(howMuch<readonly TlsCase[]>(few, [...few, ...others]))(
    'before https://%s, trusted: %s, until %s',
    async (name, isTrusted, until, expected) => {
      expect(await answeredOverTls(name, isTrusted, until)).toMatch(expected)
    },
  )

  test('refuses a fault that it does not know with 2', async () => {
    const flags = ['--to', 'http://127.0.0.1:1', '--profile', 'stripe', '--fault']
    for (const [fault, sentence] of [
      ['price_changed', '--fault must be one of lost_before'],
      ['lost_after@createCharge#0', '--fault must be one of lost_before'],
      ['lost_after@createCharg', 'the profile has no call "createCharg". Did you mean "createCharge"?'],
      ['lost_after@constructor', 'the profile has no call "constructor".'],
    ] as const) {
      const { code, stderr } = await run(['proxy', ...flags, fault])
      expect(stderr).toContain(sentence)
      expect(code).toBe(2)
    }
  })
})
