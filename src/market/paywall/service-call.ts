import { queryText } from '../../jobs/upstream/query.js'

/** How an upstream service is called. */
export interface ServiceCall {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** In the query of a GET, otherwise the JSON body. */
  readonly params: Readonly<Record<string, unknown>> | undefined
}

/** Builds the upstream request. It contains nothing of the caller but these parameters. */
export function upstreamRequest(url: URL, { method, params }: ServiceCall) {
  const headers = { accept: '*/*' }
  if (params === undefined) return { url, method, headers, body: null }
  if (method === 'GET') return { url: withParams(url, params), method, headers, body: null }
  return { url, method, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(params) }
}

/** A list becomes one parameter for each of its values. Objects become JSON. */
function withParams(url: URL, params: Readonly<Record<string, unknown>>): URL {
  const filled = new URL(url)
  for (const [name, value] of Object.entries(params))
    for (const each of [value].flat()) if (each !== null) filled.searchParams.append(name, queryText(each))
  return filled
}
