import { z } from '../fields/schema.js'
import { defineRoutes, type Route, route } from '../route.js'
import type { Texts } from './texts.js'

/**
 * The operation that returns the OpenAPI document. `list` returns the whole route table, including this operation. The
 * document, its texts and its examples are loaded on the first call.
 */
export const openapiRoutes = (list: () => readonly Route[], load: () => Promise<{ readonly texts: Texts }>) =>
  defineRoutes('meta', {
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
      async handle(_call, { baseUrl, evidence }) {
        const [{ openapi }, { examples }, { texts }] = await Promise.all([
          import('./document.js'),
          import('./examples.js'),
          load(),
        ])
        return openapi({ routes: list(), baseUrl, evidence, texts, examples })
      },
    }),
  })
