import { LimitedMap } from '../../base/memo.js'
import { z } from '../fields/schema.js'
import { reply } from '../reply.js'
import { defineRoutes, type Route, route } from '../route.js'
import type { Texts } from './texts.js'

/** Documents that are kept: of a service, and of one with another address or mode. */
const MOST_WRITTEN = 2

/** Returns the OpenAPI document. `loadRoutes` gives the whole table, with this operation. Texts load on the first call. */
export const openapiRoutes = (loadRoutes: () => Promise<readonly Route[]>, loadTexts: () => Promise<Texts>) => {
  // Writing the document takes a hundred times as long as a payment, and anybody may ask for it.
  const written = new LimitedMap<string, string>(MOST_WRITTEN)
  return defineRoutes('meta', {
    readOpenapi: route({
      summary: 'Read the OpenAPI 3.1 document, which describes every operation that answers.',
      evidence: 'designed',
      scope: 'meta',
      method: 'GET',
      path: '/openapi.json',
      versions: ['v4'],
      auth: ['none'],
      shareable: true,
      result: z.record(z.string(), z.unknown()),
      async handle(_call, { baseUrl, options: { evidence } }) {
        const name = `${evidence} ${baseUrl}`
        const known = written.get(name)
        if (known !== undefined) return reply({ body: known })
        const loaded = [import('./document.js'), loadRoutes(), loadTexts()] as const
        const [{ openapi, examples }, routes, texts] = await Promise.all(loaded)
        const body = JSON.stringify(openapi({ routes, baseUrl, evidence, texts, examples }))
        written.set(name, body)
        return reply({ body })
      },
    }),
  })
}
