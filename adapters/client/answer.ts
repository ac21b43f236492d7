import type { Endpoint } from './grades.js'
import { Refusal } from './refusal.js'

/** Reads an answer as what its operation returns. Throws a `Refusal` if it is one. */
export async function readAnswer(endpoint: Endpoint, response: Response): Promise<unknown> {
  const { status, headers } = response
  // What an upstream service answers to a payment is the answer, even if it is an error.
  if (endpoint.raw && (response.ok || headers.get('x-payment-status') === 'posted')) return response
  if (!response.ok) throw refusalOf(endpoint, response, await response.text())
  if (endpoint.accept === 'application/pdf') return new Uint8Array(await response.arrayBuffer())
  const text = await response.text()
  if (status === 204 || text === '') return undefined
  return endpoint.accept ? text : JSON.parse(text)
}

/** The refusal that an answer tells. `text` is its body. */
export function refusalOf({ id, method, path }: Endpoint, { status, headers }: Response, text: string): Refusal {
  const { error, code, docs, error_description, message, status: _, ...fields } = bodyOf(text)
  const sentence = [error_description, error, message].find((part) => typeof part === 'string')
  return new Refusal({
    message: sentence ?? `${method} ${path} answered ${status}.`,
    code: typeof code === 'string' ? code : 'unknown',
    status,
    operation: id,
    docs: typeof docs === 'string' ? docs : undefined,
    headers,
    fields,
  })
}

/** A proxy may answer with a page. */
function bodyOf(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null ? { ...body } : {}
  } catch {
    return {}
  }
}
