import { readFile } from 'node:fs/promises'
import { type Reply, reply } from '../../src/http/reply.js'
import { absentPage } from './absent.js'

/** An application that the build made, as the sandbox serves it. */
interface BuiltPage {
  /** Its files, with their types. */
  readonly types: Readonly<Record<string, string>>
  readonly policy: string
  /** What its folder is called for people, if it was not built. */
  readonly title: string
}

/** It says its own policy, because it can be put on any server. */
const demo: BuiltPage = {
  types: {
    'index.html': 'text/html',
    'page.js': 'text/javascript',
    'style.css': 'text/css',
    'worker.js': 'text/javascript',
  },
  policy: "frame-ancestors 'none'",
  title: 'The offline demo',
}

const workbench: BuiltPage = {
  types: {
    'index.html': 'text/html',
    'page.js': 'text/javascript',
    'style.css': 'text/css',
    'coin.svg': 'image/svg+xml',
  },
  policy:
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src 'self'; style-src 'self'; " +
    "connect-src 'self'; frame-src 'self'; img-src 'self' data:",
  title: 'The workbench',
}

/** Answers with a file of the offline demo or the workbench. Returns undefined if the path has none of them. */
export async function builtFile(path: string, built: URL | undefined): Promise<Reply | undefined> {
  // Addresses in the files are relative to the folder.
  if (path === '/demo') return reply({ status: 308, headers: { location: 'demo/' }, body: null })
  if (path.startsWith('/demo/')) return fileOf(demo, 'demo', path.replace('/demo/', ''), built)
  const [, name] = WORKBENCH_PATH.exec(path) ?? []
  return name === undefined ? undefined : fileOf(workbench, 'workbench', name, built)
}

/** The sandbox and each of its forks have the workbench at their own address. */
const WORKBENCH_PATH = /^(?:\/_sandbox\/forks\/\w+)?\/((?:workbench\/[\w.]+)?)$/

async function fileOf(
  { types, policy, title }: BuiltPage,
  folder: string,
  path: string,
  built: URL | undefined,
): Promise<Reply | undefined> {
  const name = path.replace('workbench/', '') || 'index.html'
  const type = Object.hasOwn(types, name) && types[name]
  if (!type) return undefined
  const body = built && (await readFile(new URL(`${folder}/${name}`, built), 'utf8').catch(() => undefined))
  if (body === undefined) return notBuilt(title)
  return reply({
    headers: {
      'content-type': `${type}; charset=utf-8`,
      'cache-control': 'no-cache',
      'content-security-policy': policy,
    },
    body,
  })
}

const notBuilt = (title: string) =>
  absentPage(
    `${title} is not built`,
    `${title} is not built`,
    <>
      Run <code>npm run build</code>, or start the sandbox with <code>npm start</code>, which builds it.
    </>,
  )
