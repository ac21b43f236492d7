import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Browser, type BrowserServer, chromium, type LaunchOptions } from 'playwright-core'

const quiet = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

type Launch<T> = (options: LaunchOptions) => Promise<T>

/** The browser of `CHROME_PATH`; else an installed Chrome or Chromium; else the one that comes as a package. The caller closes it. */
export const launchBrowser = (args: readonly string[] = []): Promise<Browser> =>
  launchFound((options) => chromium.launch({ ...options, args: [...(options.args ?? []), ...args] }))

let kept: Promise<Browser> | undefined

/**
 * The same, kept for all files that run in this process: it ends with the process. Close contexts, not the browser. It takes
 * the names of `example.test` for this machine.
 */
export async function keptBrowser(): Promise<Browser> {
  const isOpen = await kept?.then(
    (browser) => browser.isConnected(),
    () => false,
  )
  if (!isOpen) kept = launchBrowser(['--host-resolver-rules=MAP *.example.test 127.0.0.1'])
  return kept as Promise<Browser> // It was just launched, if it was not there.
}

/** The same, for several processes to connect to. */
export const launchBrowserServer = (): Promise<BrowserServer> =>
  launchFound((options) => chromium.launchServer(options))

export const launchPackaged = async (): Promise<Browser> => chromium.launch(await packaged())

/** The path of a command that starts the same browser, for programs that launch one themselves. */
export async function browserCommand(): Promise<string> {
  const found = process.env.CHROME_PATH ?? findInstalled()
  if (found !== undefined) return found
  const { executablePath = '', args = [], env = {} } = await packaged()
  const command = `${executablePath}.sh`
  const variables = ['LD_LIBRARY_PATH', 'FONTCONFIG_FILE'].map((name) => `${name}='${env[name]}'`)
  await writeFile(command, `#!/bin/sh\n${variables.join(' ')} exec '${executablePath}' ${args.join(' ')} "$@"\n`, {
    mode: 0o755,
  })
  return command
}

async function launchFound<T>(launch: Launch<T>): Promise<T> {
  const { CHROME_PATH } = process.env
  if (CHROME_PATH) return launch(installed(CHROME_PATH))
  const found = findInstalled()
  if (found === undefined) return launch(await packaged())
  // An installed browser may still not start, for example if its sandbox is not allowed.
  return launch(installed(found)).catch((error) =>
    packaged()
      .then(launch)
      .catch((second) => {
        throw new AggregateError([error, second], `neither ${found} nor @sparticuz/chromium starts; set CHROME_PATH`)
      }),
  )
}

function installed(executablePath: string): LaunchOptions {
  const sandboxed = process.getuid?.() !== 0 && !process.env.CI
  return { executablePath, chromiumSandbox: sandboxed, args: quiet }
}

/** @sparticuz/chromium with the libraries and fonts it brings, so that a machine without any browser will do. Linux on x64. */
async function packaged(): Promise<LaunchOptions> {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error('No Chrome or Chromium was found: install one, or set CHROME_PATH.')
  const folder = await unpacked()
  const libraries = [join(folder, 'al2023', 'lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(delimiter)
  return {
    executablePath: join(folder, 'chromium'),
    chromiumSandbox: false,
    args: ['--no-zygote', '--disable-gpu'],
    env: { ...process.env, LD_LIBRARY_PATH: libraries, FONTCONFIG_FILE: join(folder, 'fonts.conf') } as Record<
      string,
      string
    >,
  }
}

/** Where the packaged browser lies unpacked: a folder of its own per version, that no other user can have prepared. */
async function unpacked(): Promise<string> {
  const modules = fileURLToPath(new URL('../../../node_modules', import.meta.url))
  const { version } = JSON.parse(await readFile(join(modules, '@sparticuz', 'chromium', 'package.json'), 'utf8'))
  const caches = join(modules, '.cache')
  const folder = join(caches, `chromium-${version}`)
  if (existsSync(join(folder, 'chromium'))) return folder
  await mkdir(caches, { recursive: true })
  const fresh = await mkdtemp(`${folder}-`)
  // The package unpacks into TMPDIR, and its libraries only on machines that it knows.
  const script = "await (await import('@sparticuz/chromium')).default.executablePath()"
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    env: { ...process.env, VERCEL: '1', TMPDIR: fresh },
  })
  // Its own fonts.conf names folders of those hosts.
  const fonts = ['/usr/share/fonts', join(folder, 'fonts')].map((path) => `<dir>${path}</dir>`).join('')
  await writeFile(
    join(fresh, 'fonts.conf'),
    `<fontconfig>${fonts}<cachedir>${folder}/font-cache</cachedir></fontconfig>`,
  )
  // A browser that ran while the packages were installed again leaves its cache of fonts there.
  if (!existsSync(join(folder, 'chromium'))) await rm(folder, { recursive: true, force: true })
  // Another test process may have been faster: its folder serves as well.
  await rename(fresh, folder).catch(() => rm(fresh, { recursive: true }))
  return folder
}

function findInstalled(): string | undefined {
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  const onPath = (process.env.PATH ?? '').split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)))
  return [...onPath, ...knownPaths()].find(isExecutable)
}

function knownPaths(): string[] {
  if (process.platform === 'darwin')
    return ['Google Chrome', 'Chromium'].map((name) => `/Applications/${name}.app/Contents/MacOS/${name}`)
  if (process.platform !== 'win32') return []
  const { PROGRAMFILES, LOCALAPPDATA } = process.env
  return [PROGRAMFILES, process.env['PROGRAMFILES(X86)'], LOCALAPPDATA]
    .filter((folder) => folder !== undefined)
    .map((folder) => join(folder, 'Google', 'Chrome', 'Application', 'chrome.exe'))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
