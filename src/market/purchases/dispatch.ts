import type { UpstreamRequest } from '../../base/ports.js'
import { problem } from '../../base/problem.js'
import { queryText } from '../../jobs/upstream/query.js'
import { fillEndpoint, inputsIn, PlaceholderFault } from '../catalog/endpoint.js'
import type { CatalogItemRow } from '../catalog/item.js'
import type { Dispatch } from '../catalog/parameter.js'
import { type Arguments, argumentsRefused } from '../catalog/schema.js'

/** How an item's endpoint is called; it holds the values of dispatch parameters, and is kept nowhere. */
export interface Dispatched extends Pick<UpstreamRequest, 'url' | 'method' | 'headers' | 'body'> {
  /** Values that are taken out of what is answered. */
  readonly sensitive: readonly string[]
}

/**
 * The request that fulfils a purchase: the arguments, in the query of a GET or else as JSON, and the seller's parameters, which win.
 * Throws `arguments_refused` and `parameter_unreadable` for values that the endpoint's path cannot take.
 */
export function dispatch(
  item: CatalogItemRow,
  args: Arguments,
  { headers, query, url, sensitive }: Dispatch,
): Dispatched {
  const { service_method: method, external_endpoint: endpoint } = item
  const inPath = inputsIn(endpoint)
  const sent = Object.fromEntries(Object.entries(args).filter(([name]) => !inPath.has(name)))
  const target = new URL(filled(endpoint, args, url))
  target.hash = ''
  if (method === 'GET')
    // Lists come as one parameter for each of their values.
    for (const [name, value] of Object.entries(sent))
      for (const each of [value].flat()) target.searchParams.append(name, queryText(each))
  for (const [name, value] of query) target.searchParams.set(name, value)
  const isJson = method !== 'GET'
  const own: Record<string, string> = { accept: '*/*', ...(isJson && { 'content-type': 'application/json' }) }
  for (const [name, value] of headers) own[name.toLowerCase()] = value
  return { url: target.href, method, headers: own, body: isJson ? JSON.stringify(sent) : null, sensitive }
}

function filled(endpoint: string, args: Arguments, secrets: Dispatch['url']): string {
  try {
    return fillEndpoint(endpoint, (source, name) => {
      const secret = secrets.get(name)
      if (source === 'input') return queryText(args[name])
      if (secret === undefined) throw problem('parameter_unreadable')
      return secret
    })
  } catch (error) {
    if (!(error instanceof PlaceholderFault)) throw error
    throw error.source === 'input' ? argumentsRefused(error.input, error.message) : problem('parameter_unreadable')
  }
}
