import { readFile } from 'node:fs/promises'
import type { ComponentChildren } from 'preact'
import { page } from '../../src/http/pages/html.js'
import { type Reply, reply } from '../../src/http/reply.js'
import { pagesStyle } from './pages-style.js'

export const absentPage = (title: string, heading: string, why: ComponentChildren): Reply =>
  page({
    title,
    status: 404,
    styles: [pagesStyle],
    body: (
      <main>
        <h1>{heading}</h1>
        <p>
          {why} <a href="/">Back to the sandbox</a>
        </p>
      </main>
    ),
  })

const types: Readonly<Record<string, string>> = {
  'index.html': 'text/html',
  'page.js': 'text/javascript',
  'style.css': 'text/css',
  'worker.js': 'text/javascript',
}

/** Answers with a file of the offline demo, which the build put into `folder`. Returns undefined if the path is not below `/demo`. */
export async function offlineFile(path: string, folder: URL | undefined): Promise<Reply | undefined> {
  // Addresses in the files are relative to the folder.
  if (path === '/demo') return reply({ status: 308, headers: { location: 'demo/' }, body: null })
  const name = path === '/demo/' ? 'index.html' : path.replace('/demo/', '')
  const type = Object.hasOwn(types, name) && types[name]
  if (!path.startsWith('/demo/') || !type) return undefined
  const body = folder && (await readFile(new URL(name, folder), 'utf8').catch(() => undefined))
  if (body === undefined) return notBuilt
  const headers = { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-cache' }
  return reply({ headers: { ...headers, 'content-security-policy': "frame-ancestors 'none'" }, body })
}

const notBuilt = absentPage(
  'Demo not built',
  'The offline demo is not built',
  <>
    Run <code>npm run build</code>, or start the sandbox with <code>npm start</code>, which builds the demo.
  </>,
)
