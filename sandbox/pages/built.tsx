import { readFile } from 'node:fs/promises'
import { page } from '../../src/http/pages/html.js'
import { Coin } from '../../src/http/pages/parts.js'
import { type Reply, reply } from '../../src/http/reply.js'
import { pagesStyle } from './pages-style.js'

/** What the build made for browsers, in the folder of the offline demo. It can be put on any server. */
const types: Readonly<Record<string, string>> = {
  'coin.svg': 'image/svg+xml',
  'index.html': 'text/html',
  'page.js': 'text/javascript',
  'style.css': 'text/css',
  'worker.js': 'text/javascript',
  'workbench.html': 'text/html',
  'workbench/index.html': 'text/html',
  'workbench/page.js': 'text/javascript',
  'workbench/style.css': 'text/css',
  'workbench/coin.svg': 'image/svg+xml',
}

/** Whether the path is that of a file of the offline demo or of the workbench. */
export const isBuilt = (path: string): boolean => path === '/demo' || fileAt(path) !== undefined

/** Answers with a file of the offline demo or of the workbench. */
export async function builtFile(path: string, built: URL | undefined): Promise<Reply> {
  // Addresses in the files are relative to the folder.
  if (path === '/demo') return reply({ status: 308, headers: { location: 'demo/' }, body: null })
  const file = fileAt(path)
  const body = file && built && (await readFile(new URL(file, built), 'utf8').catch(() => undefined))
  if (file === undefined || body === undefined) return notBuilt
  return reply({
    headers: {
      'content-type': `${types[file]}; charset=utf-8`,
      'cache-control': 'no-cache',
      'content-security-policy': "frame-ancestors 'none'",
    },
    body,
  })
}

/** The sandbox and each of its forks have the workbench at their own address. */
const WORKBENCH_PATH = /^(?:\/_sandbox\/forks\/\w+)?\/((?:workbench\/[\w.]+)?)$/

function fileAt(path: string): string | undefined {
  const [, own] = WORKBENCH_PATH.exec(path) ?? []
  const ofDemo = path.startsWith('/demo/') ? path.slice('/demo/'.length) || 'index.html' : ''
  const file = own === undefined ? ofDemo : own || 'workbench/index.html'
  return Object.hasOwn(types, file) ? file : undefined
}

const notBuilt = page({
  title: 'Not built',
  status: 404,
  styles: [pagesStyle],
  body: (
    <main>
      <Coin />
      <h1>This page is not built</h1>
      <p>
        Run <code>npm run build</code>, or start the sandbox with <code>npm start</code>, which builds it.
      </p>
    </main>
  ),
})
