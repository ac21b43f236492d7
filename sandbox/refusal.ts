import { readFile } from 'node:fs/promises'
import { describeFault } from '../src/http/fields/field.js'
import { type Seed, SeedSchema } from '../src/sandbox/controls/seed/seed-schema.js'
import { StorageUnavailable } from '../src/storage/storage.js'
import { diskReasons } from '../src/storage/unavailable.js'
import { hasCode, messageOf } from '../src/storage/unknown.js'
import { demo } from './seed/demo.js'

/** A command cannot use what it was given. The message is one line that says what to do. The exit code is 2. */
export class Refusal extends Error {
  override name = 'Refusal'
}

/** Throws `Refusal` if the system does not let farthing read or write a file, and any other error as it is. */
export function refuseFile(action: string, file: string, error: unknown): never {
  const cause = error instanceof StorageUnavailable ? error.cause : error
  const [, reason] = Object.entries(reasons).find(([code]) => hasCode(cause, code)) ?? []
  if (reason === undefined) throw error
  throw new Refusal(`cannot ${action} ${file}: ${reason}`, { cause: error })
}

const reasons: Record<string, string> = {
  ...diskReasons,
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EISDIR: 'it is a directory',
  ENOTDIR: 'part of its path is not a directory',
  EEXIST: 'part of its path is not a directory',
  ELOOP: 'its symbolic links form a circle',
  ENAMETOOLONG: 'its name is too long',
}

/** Reads a file, or returns undefined if it does not exist. Throws `Refusal`. */
export async function readOptionalText(file: string, shownAs = file): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    return refuseFile('read', shownAs, error)
  }
}

export async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => refuseFile('read', file, error))
}

/** Parses YAML if the file is named `.yaml` or `.yml`, and JSON otherwise. Throws `Refusal`. */
export async function parseDocument(file: string, text: string): Promise<unknown> {
  const isYaml = /\.ya?ml$/i.test(file)
  try {
    if (!isYaml) return JSON.parse(text.replace(/^\ufeff/, ''))
    const { parse } = await import('yaml')
    return parse(text)
  } catch (cause) {
    const [line = ''] = messageOf(cause).split('\n')
    throw new Refusal(`${file} is not ${isYaml ? 'YAML' : 'JSON'}: ${line.replace(/:$/, '')}`, { cause })
  }
}

/** Loads the seed that a setting names: a file, `demo`, `none`, or a seed that is already checked. Throws `Refusal`. */
export async function loadSeed(seed: string | Seed): Promise<Seed> {
  if (typeof seed !== 'string') return seed
  if (seed === 'demo') return demo.seed
  if (seed === 'none') return {}
  return checkSeed(seed, await parseDocument(seed, await readText(seed)))
}

export function checkSeed(place: string, document: unknown): Seed {
  const fault = describeFault(SeedSchema, document)
  if (fault !== undefined) throw new Refusal(`${place}: ${fault}`)
  return SeedSchema.parse(document)
}
