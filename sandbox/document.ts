import { readFile } from 'node:fs/promises'
import { hasCode, messageOf } from '../src/storage/unknown.js'
import { Refusal, refuseFile } from './refusal.js'

/** A file's text, or undefined where there is none. Throws `Refusal`. */
export async function readIfThere(file: string, shownAs = file): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    return refuseFile('read', shownAs, error)
  }
}

/** A file's text. Throws `Refusal`, also where there is none. */
export async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => refuseFile('read', file, error))
}

/** What a JSON or, by its name, a YAML file holds. Throws `Refusal`. */
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
