import { load } from '../../base/load.js'
import { z } from '../../http/fields/schema.js'
import { sandboxOf } from '../onion/context.js'
import { type SandboxTool, sandboxTool } from './sandbox-tool.js'

const docsSearch = sandboxTool({
  name: 'docs_search',
  title: 'Search the documentation',
  description:
    'Finds operations, error codes and parts of the guides by words, an operation id or an error code, best first. Works offline.',
  input: z.strictObject({
    query: z.string().check(z.minLength(1), z.maxLength(200)),
    limit: z.optional(z.int().check(z.minimum(1), z.maximum(10))),
  }),
  hints: { reads: true },
  async call({ query, limit = 5 }, service) {
    const { searchDocs } = await load(() => import('./docs-search.js'))
    const results = searchDocs(query, { limit, routes: await sandboxOf(service).loadRoutes(), service })
    return {
      lines: [
        ...(results.length === 0 ? ['Nothing in the documentation matches. Try fewer or other words.'] : []),
        ...results.map(({ title, text, at }) => `${title}: ${text} (${at})`),
      ],
      structured: { results },
    }
  },
})

export const docsTools: readonly SandboxTool[] = [docsSearch]
