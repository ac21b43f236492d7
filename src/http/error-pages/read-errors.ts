import { load } from '../../base/load.js'
import { docsOf, isProblemCode, type Problem, problem, problemCodes } from '../../base/problem.js'
import { suggestName } from '../../base/text/nearest-name.js'
import { component } from '../fields/marks.js'
import { z } from '../fields/schema.js'
import type { Reply } from '../reply.js'
import { defineRoutes, type Route, route } from '../route.js'
import type { ErrorFormat } from './answers.js'
import type { ExplainedError, ListedError } from './explained-error.js'

const listed = { code: z.string(), status: z.int(), error: z.string(), docs: z.string() }
const ListedErrorShape = component('ListedError', listed)
const texts = z.array(z.string())

const shared = {
  evidence: 'designed',
  scope: 'meta',
  method: 'GET',
  auth: ['none'],
  shareable: true,
  produces: ['text/html', 'application/json', 'text/markdown'],
} as const

/**
 * The pages that explain error codes: HTML, or JSON or Markdown for callers that ask for it. `loadRoutes` returns the
 * route table. The texts are loaded on the first call.
 */
export const errorCodeRoutes = (loadRoutes: () => Promise<readonly Route[]>) =>
  defineRoutes('meta', {
    listErrorCodes: route({
      ...shared,
      summary: 'List every error code by its HTTP status.',
      path: '/docs/errors',
      result: z.object({ errors: z.array(ListedErrorShape) }),
      async handle({ headers }, { baseUrl, options: { evidence } }): Promise<Reply<{ errors: ListedError[] }>> {
        const { answerList } = await load(() => import('./answers.js'))
        return answerList(formatFor(headers), { baseUrl, evidence, routes: await loadRoutes() })
      },
    }),

    readErrorCode: route({
      ...shared,
      summary: 'Read what an error code means, its usual causes, and how to fix it.',
      path: '/docs/errors/:code',
      params: z.object({ code: z.string() }),
      result: component('ExplainedError', {
        ...listed,
        meaning: z.string(),
        causes: texts,
        fixes: texts,
        fields: z.array(z.object({ name: z.string(), type: z.string(), description: z.string() })),
        operations: z.array(z.object({ id: z.string(), method: z.string(), path: z.string() })),
      }),
      errors: ['not_found'],
      async handle({ params: { code }, headers }, { baseUrl, options: { evidence } }): Promise<Reply<ExplainedError>> {
        const { answerCode, answerUnknown } = await load(() => import('./answers.js'))
        const service = { baseUrl, evidence, routes: await loadRoutes() }
        const format = formatFor(headers)
        return isProblemCode(code)
          ? answerCode(code, format, service)
          : answerUnknown(unknownCode(code, baseUrl), format, service)
      },
    }),
  })

/** Longer names are nobody's typing error. */
const LONGEST_CODE = 64

function unknownCode(code: string, baseUrl: string): Problem {
  const hint = code.length > LONGEST_CODE ? '' : suggestName(code, problemCodes)
  return problem('not_found', { detail: `No error has this code.${hint} ${docsOf(undefined, { baseUrl })} lists all.` })
}

/** Browsers ask for HTML by name. Others get it too, unless they ask for something else. */
function formatFor(headers: Pick<Headers, 'get'>): ErrorFormat {
  const accepted = headers.get('accept') ?? ''
  if (accepted.includes('text/html')) return 'html'
  if (accepted.includes('application/json')) return 'json'
  return accepted.includes('text/markdown') ? 'markdown' : 'html'
}
