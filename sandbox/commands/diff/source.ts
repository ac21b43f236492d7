import { basename } from 'node:path'
import { isObject, messageOf } from '../../../src/storage/unknown.js'
import { readText } from '../../document.js'
import { Refusal } from '../../refusal.js'
import type { Json } from './shape.js'

/** An OpenAPI document, or the requests of a recorded session. */
export type Source =
  | { readonly kind: 'openapi'; readonly name: string; readonly document: Json }
  | { readonly kind: 'har'; readonly name: string; readonly entries: readonly unknown[] }

/** How long a URL may take, in milliseconds. */
const MOST_MS = 30_000

/** Reads a file or a URL: an OpenAPI or Swagger document in JSON or YAML, or a HAR. Throws `Refusal`. */
export async function readSource(place: string): Promise<Source> {
  const isUrl = /^https?:\/\//i.test(place)
  const text = isUrl ? await download(place) : await readText(place)
  const name = isUrl ? place : basename(place)
  return sourceOf(await parseDocument(name, text), name)
}

async function download(url: string): Promise<string> {
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/json, application/yaml, text/yaml, */*;q=0.5' },
      signal: AbortSignal.timeout(MOST_MS),
    })
    if (response.ok) return await response.text()
    throw new Refusal(`${url} answers ${response.status}`)
  } catch (cause) {
    if (cause instanceof Refusal) throw cause
    const reason = cause instanceof Error && cause.cause !== undefined ? messageOf(cause.cause) : messageOf(cause)
    throw new Refusal(`cannot read ${url}: ${reason}`, { cause })
  }
}

/** JSON begins with a brace. Anything else may be YAML. */
async function parseDocument(name: string, text: string): Promise<unknown> {
  const plain = text.replace(/^\ufeff/, '').trimStart()
  const isJson = plain.startsWith('{')
  try {
    if (isJson) return JSON.parse(plain)
    const { parse } = await import('yaml')
    return parse(plain)
  } catch (cause) {
    if (plain.startsWith('<')) throw neither(name)
    const [line = ''] = messageOf(cause).split('\n')
    throw new Refusal(`${name} is not ${isJson ? 'JSON' : 'JSON or YAML'}: ${line.replace(/:$/, '')}`, { cause })
  }
}

function sourceOf(document: unknown, name: string): Source {
  if (!isObject(document)) throw neither(name)
  const { log, openapi, swagger } = document
  if (isObject(log) && Array.isArray(log.entries)) return { kind: 'har', name, entries: log.entries }
  const version = openapi ?? swagger
  if (version === undefined) throw neither(name)
  if (!/^(3\.[01]|2\.0)/.test(String(version)))
    throw new Refusal(`${name} is OpenAPI ${String(version)}; this command reads 3.0, 3.1 and Swagger 2.0`)
  return { kind: 'openapi', name, document }
}

const neither = (name: string): Refusal =>
  new Refusal(
    `${name} is neither an OpenAPI document (with "openapi" or "swagger") nor a recorded session (HAR, with "log.entries")`,
  )
