import { readFile } from 'node:fs/promises'
import { hasCode, messageOf } from '../src/storage/unknown.js'
import { Refusal, refuseFile } from './refusal.js'

/** Reads a file, or returns undefined if it does not exist. Throws `Refusal`. */
export async function readOptionalText(file: string, shownAs = file): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    return refuseFile('read', shownAs, error)
  }
}

/** Reads a file. Throws `Refusal`, also if the file does not exist. */
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
