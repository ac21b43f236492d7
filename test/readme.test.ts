import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Served, serve } from '../adapters/node.js'
import { demo } from '../sandbox/seed/demo.js'
import { createService, type Service } from '../src/index.js'
import { launchBrowser } from './support/browser/browser.js'
import { startStripe } from './support/stripe/stripe-fake.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
const readme = await readFile(join(root, 'README.md'), 'utf8')
const command = join(root, 'dist', 'cli', 'farthing.js')
const HERE = 'http://127.0.0.1:4242'

/** The fenced block of a language that holds a text, without its fences. */
function block(language: string, holding: string): string {
  for (const [, fence, text] of readme.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm))
    if (fence === language && text?.includes(holding)) return text
  throw new Error(`README.md has no ${language} block that holds "${holding}"`)
}

/** A folder inside the package, so that what runs there imports `farthing` as its users do. */
let folder = ''
let service: Service
let served: Served

beforeAll(async () => {
  await run(process.execPath, [join(root, 'scripts', 'setup.mjs')])
  await mkdir(join(root, '.farthing'), { recursive: true })
  folder = await mkdtemp(join(root, '.farthing', 'readme-'))
  served = await serve(
    (baseUrl) => {
      service = createService({ baseUrl, sandbox: true, seed: demo.seed })
      return service
    },
    { port: 0 },
  )
}, 120_000)

afterAll(async () => {
  await served.close()
  await service.close()
  await rm(folder, { recursive: true })
})

/** Bundles a script with the built package. */
async function bundled(name: string, format: 'esm' | 'iife'): Promise<string> {
  const entry = join(folder, name)
  // Not by our tsconfig.json, which leads to the sources.
  const tsconfigRaw = {}
  const { outputFiles } = await build({
    entryPoints: [entry],
    tsconfigRaw,
    bundle: true,
    write: false,
    format,
    platform: 'browser',
  })
  return outputFiles[0]?.text ?? ''
}

async function runScript(name: string, script: string): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, script)
  return (await run(process.execPath, [file], { cwd: folder, timeout: 20_000 })).stdout
}

/** Runs a script, which must print what the comments behind its `console.log` promise. */
async function expectPromised(name: string, script: string, lines: number): Promise<void> {
  const promised = [...script.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(([, text]) => text)
  expect(promised).toHaveLength(lines)
  expect((await runScript(name, script)).trim().split('\n')).toEqual(promised)
}

describe('what the README says', () => {
  it('sells an article in a test', async () => {
    await expectPromised('example.mjs', block('js', 'sandbox.seed'), 2)
  })

  it('signs a user in by three plain fetches', async () => {
    await expectPromised('sign-in.mjs', block('js', "'/v4/session/code'"), 2)
  })

  it('pays for what another service answers, by card, transfer and delegate', async () => {
    await expectPromised('paywall.mjs', block('js', '/v4/paywall'), 3)
  })

  it('sells what an endpoint answers, at once, by cart and by link', async () => {
    await expectPromised('catalog.mjs', block('js', '/v4/catalog/items'), 3)
  })

  it('lets an agent buy what its user approves', async () => {
    await expectPromised('agent.mjs', block('js', 'sandbox.agent('), 4)
  })

  it('charges cards by Stripe', async () => {
    const stripe = await startStripe()
    const asked = /stripeCards\(\{ apiKey: process\.env\.STRIPE_API_KEY \}\)/
    const example = block('js', 'farthing/stripe')
    expect(example).toMatch(asked)
    try {
      const reached = example.replace(asked, `stripeCards(${JSON.stringify(stripe.options)})`)
      await expectPromised('cards.mjs', reached, 2)
      expect(stripe.charged()).toHaveLength(1)
    } finally {
      await stripe.close()
    }
  })

  it('bills an account by the clock', async () => {
    await expectPromised('billing.mjs', block('js', '/v4/billing'), 2)
  })

  it('repeats a refresh whose answer was lost', async () => {
    await expectPromised('refresh.mjs', block('js', 'refresh_token_invalid'), 2)
  })

  it('serves a service kept in a file and moves its clock', async () => {
    expect(await runScript('served.mjs', block('js', "advance('1h30m')"))).toBe('')
    expect(await readFile(join(folder, '.farthing', 'test.json'), 'utf8')).toContain('"manual"')
  })

  it("pays in a front end's test", async () => {
    const example = block('ts', 'farthing/msw')
    expect(example).toBe(await readFile(join(root, 'test', 'front-end', 'paywall.test.ts'), 'utf8'))
    await writeFile(join(folder, 'paywall.test.ts'), example)
    // Its own, so that it runs what was built and not the sources.
    await writeFile(join(folder, 'vitest.config.js'), 'export default {}')
    const vitest = [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--root', folder, '--reporter', 'json']
    const { stdout } = await run(process.execPath, vitest, { cwd: folder, timeout: 60_000 })
    expect(JSON.parse(stdout)).toMatchObject({ success: true, numPassedTests: 1 })
  }, 60_000)

  it('gets from an account to a validated payment with curl', async () => {
    const script = block('sh', '/v4/account/oauth/token').replaceAll(HERE, served.url)
    const { stdout } = await run('sh', ['-eu', '-c', script], { timeout: 30_000 })
    const lines = stdout.trim().split('\n')
    expect(lines.filter((line) => / \d{3}$/.test(line)).map((line) => line.slice(-3))).toEqual(['200', '400'])
    expect(stdout).toContain('"valid":true')
    expect(stdout).toContain('"code":"nonce_used"')
    const header = lines.findIndex((line) => line.startsWith('timestamp,fileAction,'))
    expect(lines[header + 1]).toMatch(/^\d{4}-.*,receive,41[0-9a-f]{64},41[0-9a-f]{64},0\.25,.*\.twin\.localhost,$/)
    expect((await service.sandbox.ledger()).ok).toBe(true)
  })

  it('mounts the payment element on a page of another origin', async () => {
    const html = `<!doctype html><title>Shop</title>${block('html', 'micropay.js').replaceAll(HERE, served.url)}`
    const shop = createServer((_req, res) => res.writeHead(200, { 'content-type': 'text/html' }).end(html))
    await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve))
    const browser = await launchBrowser()
    try {
      const page = await browser.newPage()
      await page.goto(`http://localhost:${(shop.address() as AddressInfo).port}/`)
      const button = page.frameLocator('#pay iframe').getByRole('button', { name: /^Read for 0\.25/ })
      await button.waitFor()
      expect(await button.isVisible()).toBe(true)
    } finally {
      await browser.close()
      shop.closeAllConnections()
      shop.close()
    }
  }, 60_000)

  it('answers a page from a service in its worker', async () => {
    await writeFile(join(folder, 'worker.mjs'), block('js', 'fire(service)'))
    await writeFile(
      join(folder, 'page.mjs'),
      `${block('js', "register('worker.js')")}\nglobalThis.shown = digital_quantities`,
    )
    const scripts: Record<string, string> = {
      '/own/worker.js': await bundled('worker.mjs', 'iife'),
      '/own/page.js': await bundled('page.mjs', 'esm'),
    }
    const site = createServer(({ url = '' }, res) => {
      const type = scripts[url] === undefined ? 'text/html' : 'text/javascript'
      res.writeHead(200, { 'content-type': type }).end(scripts[url] ?? '<script type="module" src="page.js"></script>')
    })
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    const browser = await launchBrowser()
    try {
      const page = await browser.newPage()
      await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/own/`)
      await page.waitForFunction('globalThis.shown')
      expect(await page.evaluate('typeof loadMicroPayments')).toBe('function')
      expect(await page.evaluate('shown')).toEqual([expect.stringMatching(/^41[0-9a-f]{64}$/)])
    } finally {
      await browser.close()
      site.closeAllConnections()
      site.close()
    }
  }, 60_000)

  it('starts, lends and exports a sandbox with its command', async () => {
    const bin = join(folder, 'bin')
    await mkdir(bin)
    await symlink(command, join(bin, 'farthing'))
    await writeFile(join(folder, 'package.json'), '{"private":true,"scripts":{"test:e2e":"echo at $FARTHING_URL"}}')
    const [start = '', exec = '', save = ''] = block('sh', 'farthing exec').trim().split('\n')
    const shell = {
      cwd: folder,
      env: { ...process.env, PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH}` },
    }
    expect(JSON.parse(await untilItListens(start, shell))).toMatchObject({ url: expect.stringMatching(/:\d+$/) })
    expect((await run('sh', ['-c', exec], shell)).stdout).toMatch(/^at http:\/\/127\.0\.0\.1:\d+$/m)
    await untilItListens('farthing --port 0 --json', shell)
    await run('sh', ['-c', save], shell)
    expect(JSON.parse(await readFile(join(folder, 'state.json'), 'utf8'))).toHaveProperty('rows.accounts')
    await run('sh', ['-c', /back by: (.*)$/.exec(save)?.[1] ?? 'false'], shell)
  }, 60_000)

  it('names only commands that exist', async () => {
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = [...readme.matchAll(/^npm (?:run )?([\w:]+)/gm)].map(([, name]) => name)
    expect(named).toEqual(['start', 'test', 'check', 'bench', 'test:all', 'test:watch', 'test:long'])
    for (const name of named) expect(scripts).toHaveProperty([name as string])
  })
})

/** Runs a command that serves, and ends it once it has said where. */
function untilItListens(line: string, shell: { cwd: string; env: NodeJS.ProcessEnv }): Promise<string> {
  const child = spawn('sh', ['-c', `exec ${line}`], { ...shell, stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (text) => {
    said += text
    if (said.includes('\n')) child.kill('SIGTERM')
  })
  return new Promise((resolve, reject) => {
    child.once('close', (code) => (code === 0 ? resolve(said) : reject(new Error(`${line} ended with ${code}`))))
  })
}
