// `npm run pictures`: starts a sandbox with the demo's seed, does a little in it, and takes pictures of the workbench for the site.
// They are made with the site and are not in git. `npm run build` comes first.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'docs', 'public', 'pictures')
const views = ['live', 'inbox', 'data', 'break']
const SIZE = { width: 1280, height: 800 }

/** The tests know how to start a browser anywhere. */
async function launchBrowser() {
  const outfile = join(root, 'node_modules', '.cache', 'pictures', 'browser.mjs')
  // As deep as the source, which finds its files from where it is.
  const entry = join(root, 'test', 'support', 'browser', 'browser.ts')
  await build({ entryPoints: [entry], outfile, bundle: true, packages: 'external', platform: 'node', format: 'esm' })
  const { launchBrowser: launch } = await import(pathToFileURL(outfile).href)
  return launch()
}

async function startSandbox() {
  const flags = ['start', '--json', '--memory', '--port', '0', '--seed', 'demo']
  const command = join(root, 'dist', 'cli', 'farthing.js')
  const child = spawn(process.execPath, [command, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  return { child, ...JSON.parse(String(line)) }
}

/** A payment, one that is refused, and a mailed code. */
async function doALittle({ url, users: [payer] }) {
  const call = async (path, headers = {}, body = undefined) =>
    (await fetch(url + path, { method: 'POST', headers, ...(body && { body }) })).json()
  const basic = `Basic ${btoa(`${payer.client_id}:${payer.client_secret}`)}`
  const { access_token } = await call('/v4/account/oauth/token', { authorization: basic })
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
  const article = '/v4/payment/00000000-0000-4000-8000-0000000000a1'
  await call(article, headers, JSON.stringify({ cost: 0.25 }))
  await call(article, headers, JSON.stringify({ cost: 0.2 }))
  await call('/v4/session/code', {}, new URLSearchParams({ email: 'wren@example.test' }))
}

async function takePictures(browser, { url }) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.newPage({ viewport: SIZE, colorScheme })
    await page.goto(url)
    for (const view of views) {
      await page.evaluate((name) => (location.hash = `#/${name}`), view)
      await page.waitForLoadState('networkidle').catch(() => {})
      await page.waitForTimeout(500)
      await page.screenshot({ path: join(folder, `${view}-${colorScheme}.png`) })
    }
    await page.close()
  }
}

await rm(folder, { recursive: true, force: true })
await mkdir(folder, { recursive: true })
const sandbox = await startSandbox()
try {
  const browser = await launchBrowser()
  try {
    await doALittle(sandbox)
    await takePictures(browser, sandbox)
  } finally {
    await browser.close()
  }
} finally {
  sandbox.child.kill('SIGTERM')
}
