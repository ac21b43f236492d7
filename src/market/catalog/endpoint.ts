import type { Problem } from '../../base/problem.js'
import { fieldRefused } from '../../http/fields/field.js'
import { checkUpstreamUrl, type UpstreamPolicy } from '../../jobs/upstream/policy.js'
import { requiredInputs, type SellerSchema } from './schema.js'

/** `{input.NAME}` or `{secret.NAME}`. */
const PLACEHOLDER = /\{(input|secret)\.([A-Za-z0-9_-]{1,64})\}/g
type Source = 'input' | 'secret'
const MAX_LENGTH = 2048

const placeholdersIn = (text: string): { source: Source; name: string }[] =>
  [...text.matchAll(PLACEHOLDER)].map(([, source, name = '']) => ({
    source: source === 'secret' ? 'secret' : 'input',
    name,
  }))

/** Checks an endpoint. Returns its normalized URL, or null if it has placeholders. Throws `upstream_refused`, `field_invalid`. */
export function checkEndpoint(endpoint: string, schema: SellerSchema, policy: UpstreamPolicy): string | null {
  if (endpoint.length > MAX_LENGTH) throw invalidEndpoint(`must have at most ${MAX_LENGTH} characters`)
  const names = placeholdersIn(endpoint)
  if (/[{}]/.test(endpoint.replace(PLACEHOLDER, '')))
    throw invalidEndpoint('may contain braces only in {input.NAME} and {secret.NAME}')
  const { head } = endpointParts(endpoint)
  if (names.length > 0 && (head === undefined || /#/.test(endpoint)))
    throw invalidEndpoint('may contain placeholders only in its path and query')
  const required = requiredInputs(schema)
  for (const { source, name } of names)
    if (source === 'input' && !required.includes(name))
      throw invalidEndpoint(`contains {input.${name}}, but the schema does not require "${name}"`)
  const url = checkUpstreamUrl(endpoint.replace(PLACEHOLDER, 'a'), policy)
  if (names.length === 0) return url.href
  if (new URL(endpoint.replace(PLACEHOLDER, 'b')).host !== url.host)
    throw invalidEndpoint('may contain placeholders only in its path and query')
  return null
}

const invalidEndpoint = (what: string): Problem => fieldRefused('external_endpoint', what)

/** Splits an endpoint into scheme and host, path, and query. `head` is undefined for an endpoint without a host. */
function endpointParts(endpoint: string): { head: string | undefined; path: string; query: string } {
  const [, head, path = '', query = ''] =
    /^(https?:\/\/[^\s/?#\\{}]+(?=[/\\?#]|$))([^?#]*)([\s\S]*)$/i.exec(endpoint) ?? []
  return { head, path, query }
}

export class PlaceholderFault extends Error {
  override name = 'PlaceholderFault'

  constructor(
    readonly source: Source,
    readonly input: string,
    reason: string,
  ) {
    super(reason)
  }
}

export const inputsIn = (endpoint: string): Set<string> =>
  new Set(placeholdersIn(endpoint).flatMap(({ source, name }) => (source === 'input' ? [name] : [])))

/** Fills placeholders, percent-encoded. Throws `PlaceholderFault` for a value such as `..`, which URLs read as a step up. */
export function fillEndpoint(endpoint: string, valueFor: (source: Source, name: string) => string | undefined): string {
  const fill = (text: string) =>
    text.replace(PLACEHOLDER, (placeholder, source: Source, name: string) => {
      const value = valueFor(source, name)
      return value === undefined ? placeholder : encodeURIComponent(value)
    })
  const { head, path, query } = endpointParts(endpoint)
  if (head === undefined) return endpoint
  const parts = path.split(/([/\\])/).map((part) => {
    const [first] = placeholdersIn(part)
    const filled = fill(part)
    if (first && /^((\.|%2e){1,2})?$/i.test(filled))
      throw new PlaceholderFault(first.source, first.name, 'It cannot be a path segment.')
    return filled
  })
  return head + parts.join('') + fill(query)
}
