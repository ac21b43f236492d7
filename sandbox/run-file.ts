import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, sep } from 'node:path'
import { isLoopbackHost } from '../src/base/loopback.js'
import { withoutEnd } from '../src/base/text/ends.js'
import { isObject } from '../src/storage/unknown.js'
import { processBegan } from './signals.js'

type Environment = Readonly<Record<string, string | undefined>>

export interface RunningHere {
  readonly url: string
  readonly address: string
  readonly controlToken: string
  /** The working directory in which it was started. */
  readonly directory: string
}

/**
 * Tells the commands of the same user where a sandbox runs, and its control token, in a file that only they can read. Returns
 * a function that removes it. Does nothing where the user has no folder to write to: then the commands need `--url` and
 * `--control-token`.
 */
export async function writeRunFile(
  { url, address, controlToken, directory }: RunningHere,
  environment: Environment,
): Promise<() => Promise<void>> {
  const file = fileOf(address, environment)
  const { pid } = process
  const content = {
    url,
    address,
    control_token: controlToken,
    directory,
    at: Date.now(),
    pid,
    began: processBegan(pid),
  }
  try {
    await mkdir(folderIn(environment), { recursive: true, mode: 0o700 })
    // A file that is there already keeps its mode, so it goes first.
    await rm(file, { force: true })
    await writeFile(file, `${JSON.stringify(content)}\n`, { mode: 0o600, flag: 'wx' })
  } catch {
    return async () => {}
  }
  return () => rm(file, { force: true }).catch(() => {})
}

/**
 * The control token of the sandbox that runs on this machine at a URL: at its address, or at its base URL. Undefined if none
 * does. The token goes nowhere else.
 */
export function findControlToken(url: string, environment: Environment): string | undefined {
  if (!URL.canParse(url)) return undefined
  const isMeant = ({ url: base, address }: RunningHere) => sameService(url, base) || sameAddress(url, address)
  return runFiles(environment)
    .map(read)
    .find((running) => running && isMeant(running))?.controlToken
}

/** The address of the sandbox that was started in this folder or nearest above it. Of several: of the newest. */
export function findAddress(directory: string, environment: Environment): string | undefined {
  const isAround = (place: string) => `${directory}${sep}`.startsWith(place.endsWith(sep) ? place : `${place}${sep}`)
  const [found] = runFiles(environment)
    .flatMap((file) => read(file) ?? [])
    .filter((running) => isAround(running.directory))
    .sort((one, other) => other.directory.length - one.directory.length || other.at - one.at)
  return found && `${found.address}${withoutEnd(new URL(found.url).pathname, '/')}`
}

function runFiles(environment: Environment): string[] {
  const folder = folderIn(environment)
  try {
    return readdirSync(folder).map((name) => join(folder, name))
  } catch {
    return []
  }
}

/** What a file says. Undefined for what is no such file. Removes that of a sandbox that crashed. */
function read(file: string): (RunningHere & { readonly at: number }) | undefined {
  try {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (!isObject(content)) return undefined
    const { url, address, control_token: controlToken, directory = '', at = 0, pid, began } = content
    if (typeof url !== 'string' || typeof address !== 'string' || typeof controlToken !== 'string') return undefined
    if (typeof directory !== 'string' || typeof at !== 'number' || typeof pid !== 'number') return undefined
    // After a crash, another program may have its port, and another process its id.
    if (isAlive(pid) && processBegan(pid) === began) return { url, address, controlToken, directory, at }
    rmSync(file, { force: true })
    return undefined
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const sameService = (url: string, base: string): boolean =>
  `${withoutEnd(url, '/')}/`.startsWith(`${withoutEnd(base, '/')}/`) && new URL(url).origin === new URL(base).origin

function sameAddress(url: string, address: string): boolean {
  const [one, other] = [new URL(url), new URL(address)]
  const isHere = isLoopbackHost(one.hostname) || one.hostname === other.hostname
  return isHere && one.protocol === other.protocol && portOf(one) === portOf(other)
}

const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80')
const folderIn = ({ XDG_RUNTIME_DIR }: Environment): string =>
  XDG_RUNTIME_DIR ? join(XDG_RUNTIME_DIR, 'farthing') : join(homedir(), '.farthing', 'run')
const fileOf = (address: string, environment: Environment): string =>
  join(folderIn(environment), `${portOf(new URL(address))}.json`)
