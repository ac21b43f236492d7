import { type Problem, problem } from '../../base/problem.js'
import { checkUpstreamUrl, type UpstreamPolicy } from '../../jobs/upstream/policy.js'
import { requiredInputs, type SellerSchema } from './schema.js'

/** `{input.NAME}` or `{secret.NAME}`. */
const PLACEHOLDER = /\{(input|secret)\.([A-Za-z0-9_-]{1,64})\}/g

type Source = 'input' | 'secret'

const LENGTH = 2048

const placeholdersIn = (text: string): { source: Source; name: string }[] =>
  [...text.matchAll(PLACEHOLDER)].map(([, source, name = '']) => ({
    source: source === 'secret' ? 'secret' : 'input',
    name,
  }))

/**
 * An endpoint that can be called, once its placeholders are filled. Gives what it is called by where it has none, else null.
 * Throws `field_invalid` for placeholders of what is not required, or outside of path and query, and `upstream_refused`.
 */
export function checkEndpoint(endpoint: string, schema: SellerSchema, policy: UpstreamPolicy): string | null {
  if (endpoint.length > LENGTH) throw refused(`takes at most ${LENGTH} characters`)
  const names = placeholdersIn(endpoint)
  if (/[{}]/.test(endpoint.replace(PLACEHOLDER, '')))
    throw refused('takes {input.NAME} and {secret.NAME}, and no braces besides')
  const { head } = partsOf(endpoint)
  if (names.length > 0 && (head === undefined || /#/.test(endpoint)))
    throw refused('takes placeholders in its path and query alone')
  const required = requiredInputs(schema)
  for (const { source, name } of names)
    if (source === 'input' && !required.includes(name))
      throw refused(`holds {input.${name}}, which the schema does not require`)
  const url = checkUpstreamUrl(endpoint.replace(PLACEHOLDER, 'a'), policy)
  if (names.length === 0) return url.href
  if (new URL(endpoint.replace(PLACEHOLDER, 'b')).host !== url.host)
    throw refused('takes placeholders in its path and query alone')
  return null
}

const refused = (what: string): Problem =>
  problem('field_invalid', { detail: `"external_endpoint" ${what}.`, fields: { field: 'external_endpoint' } })

/** Scheme and host, which take no placeholder; path; query. */
function partsOf(endpoint: string): { head: string | undefined; path: string; query: string } {
  const [, head, path = '', query = ''] =
    /^(https?:\/\/[^\s/?#\\{}]+(?=[/\\?#]|$))([^?#]*)([\s\S]*)$/i.exec(endpoint) ?? []
  return { head, path, query }
}

/** A value that cannot stand where an endpoint has its placeholder. */
export class PlaceholderFault extends Error {
  readonly source: Source
  readonly input: string

  constructor(source: Source, name: string, reason: string) {
    super(reason)
    this.name = 'PlaceholderFault'
    this.source = source
    this.input = name
  }
}

/** Names of the inputs that go into an endpoint: they are not sent in query or body as well. */
export const inputsIn = (endpoint: string): Set<string> =>
  new Set(placeholdersIn(endpoint).flatMap(({ source, name }) => (source === 'input' ? [name] : [])))

/**
 * An endpoint with its placeholders filled, percent-encoded. Throws a `PlaceholderFault` for a value that would leave
 * the place in the path that the endpoint gives it: URLs read a part of dots, however it is written, as a way up.
 */
export function fillEndpoint(endpoint: string, valueFor: (source: Source, name: string) => string): string {
  const fill = (text: string) =>
    text.replace(PLACEHOLDER, (_, source: Source, name: string) => encodeURIComponent(valueFor(source, name)))
  const { head, path, query } = partsOf(endpoint)
  // One without any is taken as it stands.
  if (head === undefined) return endpoint
  const parts = path.split(/([/\\])/).map((part) => {
    const [first] = placeholdersIn(part)
    const filled = fill(part)
    if (first && /^((\.|%2e){1,2})?$/i.test(filled))
      throw new PlaceholderFault(first.source, first.name, 'It makes no part of a path.')
    return filled
  })
  return head + parts.join('') + fill(query)
}
