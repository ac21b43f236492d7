import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest'
import { launchBrowser } from '../support/browser/browser.js'
import { blocksOf, blockTestedBy } from '../support/docs/markdown.js'
import { newSchema, sharedPostgres } from '../support/storage/shared-url.js'
import { type Project, packed, project } from './packed.js'

/** Workers of users, built as the guides say from the packed package, in the browser and in workerd. */

const own = 'test/package/workers.test.ts'
const shop = fileURLToPath(new URL('../../examples/offline-shop', import.meta.url))
const tarball = packed()

describe('The shop of the guide, built to four files, works in a browser with', () => {
  test('Vite 8, as the example has it', async (context) => {
    const built = await shopBuiltBy('vite@8', context)
    expect(await openedPage(built)).toBe('This shop works without a network.')
  })

  test('Vite 7, with the configuration of the guide', async (context) => {
    const config = blockTestedBy(own, 'docs/guides/offline-demo.md', 'rollupOptions')
    const built = await shopBuiltBy('vite@7', context, config)
    expect(await openedPage(built)).toBe('This shop works without a network.')
  })
})

test('The worker and the page of the guide, bundled with its command for esbuild, work in a browser', async (context) => {
  const user = await project(context, [await tarball(), 'esbuild'])
  const [worker = '', page = ''] = blocksOf('docs/guides/service-workers.md').map(({ text }) => text)
  await writeFile(join(user.folder, 'worker.js'), worker)
  await writeFile(join(user.folder, 'page.js'), `${page}\ndocument.body.dataset.shown = digital_quantities.length`)
  const guide = await readFile(new URL('../../docs/guides/service-workers.md', import.meta.url), 'utf8')
  const [, command = ''] = /`(esbuild .+?)`/.exec(guide) ?? []
  await user.run(['npx', '--no-install', ...command.split(' ')])
  await user.run(['npx', '--no-install', 'esbuild', 'page.js', '--bundle', '--format=esm', '--outfile=dist/page.js'])
  const html = '<!doctype html><meta charset=utf-8><body role=status><script type=module src=page.js></script>'
  await writeFile(join(user.folder, 'dist', 'index.html'), html)
  expect(await filesOf(user)).toEqual(['index.html', 'page.js', 'worker.js'])
  const shown = await opened(user)
  await shown.waitForFunction("document.body.dataset.shown === '1'")
})

describe('In workerd, the module of the guide', () => {
  test('answers from memory, also many requests at once', async (context) => {
    const runtime = await workerd(context, 'service ??= createService', {})
    const answers = await Promise.all(Array.from({ length: 20 }, () => runtime.get('/v4/dq')))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const refused = await runtime.get('/_sandbox/state')
    expect(refused.status).toBeGreaterThanOrEqual(400)
  })

  test('keeps its state in PostgreSQL over a restart', async (context) => {
    const url = await sharedPostgres().catch((error: Error) => context.skip(`not run: ${error.message}`))
    const options = {
      compatibilityFlags: ['nodejs_compat'],
      durableObjects: { PAYMENTS: { className: 'Payments', useSQLite: true } },
      bindings: { DATABASE_URL: url, ENCRYPTION_KEY: '0'.repeat(64) },
    }
    const schema = newSchema()
    const inSchema = (text: string) => text.replace('env.DATABASE_URL }', `env.DATABASE_URL, schema: '${schema}' }`)
    const runtime = await workerd(context, 'DurableObject', options, inSchema)
    const account = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"name":"The Daily"}' }
    const created = await runtime.get('/v4/account', account)
    expect(created.status, created.text).toBe(201)
    const [, { client_id, client_secret }] = JSON.parse(created.text).secrets
    await runtime.restart()
    const authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`
    const token = await runtime.get('/v4/account/oauth/token', { method: 'POST', headers: { authorization } })
    expect(token.status, token.text).toBeLessThan(300)
  })
})

/** Builds the example with a bundler in a project of its own, and checks that it writes what the shop needs, and no more. */
async function shopBuiltBy(vite: string, context: TestContext, config?: string): Promise<Project> {
  const user = await project(context, [await tarball(), vite])
  for (const name of ['index.html', 'worker.ts', 'src', 'vite.config.ts'])
    await cp(join(shop, name), join(user.folder, name), { recursive: true })
  if (config) await writeFile(join(user.folder, 'vite.config.ts'), config)
  await user.run(['npx', '--no-install', 'vite', 'build'])
  const files = (await filesOf(user)).map((name) => name.replace(/-[\w-]{8}\./, '.'))
  expect(files.sort()).toEqual(['assets/index.css', 'assets/index.js', 'index.html', 'worker.js'])
  return user
}

async function filesOf({ folder }: Project): Promise<string[]> {
  const entries = await readdir(join(folder, 'dist'), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return files.map((path) => path.slice(join(folder, 'dist').length + 1).replaceAll('\\', '/')).sort()
}

const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }

/** Serves what a project has built, and opens its page. */
async function opened({ folder }: Project) {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? '', 'http://a.test').pathname.replace(/\/$/, '/index.html')
    const body = await readFile(join(folder, 'dist', path)).catch(() => undefined)
    response.writeHead(body ? 200 : 404, { 'content-type': types[extname(path)] ?? 'text/plain' }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const browser = await launchBrowser()
  onTestFinished(async () => {
    await browser.close()
    server.closeAllConnections()
    server.close()
  })
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  return page
}

/** What the page of the shop says once it is there. */
async function openedPage(built: Project): Promise<string | null> {
  const page = await opened(built)
  await page.waitForFunction("!/^Setting up/.test(document.querySelector('[role=status]').textContent)")
  return page.textContent('[role=status]')
}

interface Miniflare {
  dispatchFetch(url: string, init?: object): Promise<Response>
  dispose(): Promise<void>
}

/** Runs the module of the guide that holds a text, bundled for workerd. */
async function workerd(
  context: TestContext,
  holding: string,
  options: object,
  change: (text: string) => string = (text) => text,
) {
  const user = await project(context, [await tarball(), 'esbuild', 'miniflare@4', 'postgres@3'])
  const text = change(blockTestedBy(own, 'docs/guides/workers.md', holding))
  await writeFile(join(user.folder, 'worker.js'), text)
  await mkdir(join(user.folder, 'dist'))
  const bundled = ['--bundle', '--format=esm', '--conditions=workerd', '--outfile=dist/worker.js']
  await user.run([
    'npx',
    '--no-install',
    'esbuild',
    'worker.js',
    ...bundled,
    '--external:node:*',
    '--external:cloudflare:*',
    '--platform=node',
  ])
  const script = await readFile(join(user.folder, 'dist', 'worker.js'), 'utf8')
  const importer = join(user.folder, 'node_modules', 'importer.mjs')
  await writeFile(importer, "export { Miniflare } from 'miniflare'")
  const { Miniflare } = (await import(/* @vite-ignore */ pathToFileURL(importer).href)) as {
    Miniflare: new (options: object) => Miniflare
  }
  const start = () => new Miniflare({ modules: true, script, compatibilityDate: '2026-04-01', ...options })
  let running = start()
  onTestFinished(() => running.dispose())
  return {
    async get(path: string, init?: object) {
      const answer = await running.dispatchFetch(`http://pay.example.test${path}`, init)
      return { status: answer.status, text: await answer.text() }
    },
    async restart() {
      await running.dispose()
      running = start()
    },
  }
}
