import { load } from '../../base/parts.js'
import { docsOf, isProblemCode, type Problem, type ProblemCode, problem, problemCodes } from '../../base/problem.js'
import { suggestName } from '../../base/text/nearest-name.js'
import { component } from '../fields/marks.js'
import { z } from '../fields/schema.js'
import type { Reply } from '../reply.js'
import { defineRoutes, type Route, route } from '../route.js'
import type { ErrorFormat } from './answers.js'

const anyText = z.string()
const listed = { code: anyText, status: z.int(), error: anyText, docs: anyText }
const ListedErrorShape = component('ListedError', listed)
const ExplainedErrorShape = component('ExplainedError', {
  ...listed,
  meaning: anyText,
  causes: z.array(anyText),
  fixes: z.array(anyText),
  fields: z.array(z.object({ name: anyText, type: anyText, description: anyText })),
  operations: z.array(z.object({ id: anyText, method: anyText, path: anyText })),
})

/** An error code in a list. `error` is its sentence. The error itself may add a detail to it. */
export type ListedError = z.output<typeof ListedErrorShape> & { code: ProblemCode }

/**
 * Everything to know about an error code. `fields`: those of the body that only this code may have. `operations`: those that
 * may answer with it.
 */
export type ExplainedError = z.output<typeof ExplainedErrorShape> & { code: ProblemCode }

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
      params: z.object({ code: anyText }),
      result: ExplainedErrorShape,
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
