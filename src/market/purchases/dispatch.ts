import type { UpstreamRequest } from '../../base/ports.js'
import { problem } from '../../base/problem.js'
import { queryText } from '../../jobs/upstream/policy.js'
import { fillEndpoint, inputsIn, PlaceholderFault } from '../catalog/endpoint.js'
import type { CatalogItemRow } from '../catalog/item-row.js'
import type { ParameterValues } from '../catalog/parameter.js'
import { type Arguments, argumentsRefused } from '../catalog/schema.js'

/** A request to an item's endpoint. It contains secret values of dispatch parameters, so it is never stored. */
export interface EndpointRequest extends Pick<UpstreamRequest, 'url' | 'shownUrl' | 'method' | 'headers' | 'body'> {
  /** Values to remove from the answer. */
  readonly sensitive: readonly string[]
}

/**
 * Builds the request that fulfils a purchase. Arguments go into the query of a GET or a JSON body. The seller's
 * parameters override them.
 * Throws `arguments_refused` or `parameter_unreadable` for values that do not fit the endpoint's path.
 */
export function endpointRequest(
  item: CatalogItemRow,
  args: Arguments,
  { headers, query, url, sensitive }: ParameterValues,
): EndpointRequest {
  const { service_method: method, external_endpoint: endpoint } = item
  const inPath = inputsIn(endpoint)
  const sent = Object.fromEntries(Object.entries(args).filter(([name]) => !inPath.has(name)))
  const target = new URL(filledEndpoint(endpoint, args, url))
  target.hash = ''
  if (method === 'GET')
    // A list becomes one parameter for each of its values.
    for (const [name, value] of Object.entries(sent))
      for (const each of [value].flat()) target.searchParams.append(name, queryText(each))
  for (const [name, value] of query) target.searchParams.set(name, value)
  const isJson = method !== 'GET'
  const own: Record<string, string> = { accept: '*/*', ...(isJson && { 'content-type': 'application/json' }) }
  for (const [name, value] of headers) own[name.toLowerCase()] = value
  const shownUrl = filledEndpoint(endpoint, args)
  return { url: target.href, shownUrl, method, headers: own, body: isJson ? JSON.stringify(sent) : null, sensitive }
}

/** Without `secrets`, their placeholders stay. */
function filledEndpoint(endpoint: string, args: Arguments, secrets?: ParameterValues['url']): string {
  try {
    return fillEndpoint(endpoint, (source, name) => {
      if (source === 'input') return queryText(args[name])
      if (!secrets) return undefined
      const secret = secrets.get(name)
      if (secret === undefined) throw problem('parameter_unreadable')
      return secret
    })
  } catch (error) {
    if (!(error instanceof PlaceholderFault)) throw error
    throw error.source === 'input' ? argumentsRefused(error.input, error.message) : problem('parameter_unreadable')
  }
}
