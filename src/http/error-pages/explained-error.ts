import type { Evidence } from '../../base/evidence.js'
import {
  docsOf,
  fieldsOfCode,
  type ProblemCode,
  problemCodes,
  problemSentence,
  problemStatus,
} from '../../base/problem.js'
import { problemFields } from '../../base/problem-fields.js'
import { routesThatAnswer } from '../openapi/document.js'
import type { Route } from '../route.js'
import { errorsOf } from '../routing/errors.js'
import { errorText } from './error-texts.js'
import type { ExplainedError, ListedError } from './read-errors.js'

/** The service that explains an error: it lists the operations that answer there. */
export interface ExplainingService {
  readonly baseUrl: string
  readonly evidence: Evidence
  readonly routes: readonly Route[]
}

/** Every error code, by its HTTP status. */
export const listErrors = (service: Pick<ExplainingService, 'baseUrl'>): ListedError[] =>
  problemCodes.map((code) => listedError(code, service)).sort((a, b) => a.status - b.status)

const listedError = (code: ProblemCode, service: Pick<ExplainingService, 'baseUrl'>): ListedError => ({
  code,
  status: problemStatus(code),
  error: problemSentence(code),
  docs: docsOf(code, service),
})

export function explainError(code: ProblemCode, service: ExplainingService): ExplainedError {
  const answering = routesThatAnswer(service.routes, service.evidence).filter(
    ({ route, version }) => version === route.versions?.[0] && errorsOf(route).includes(code),
  )
  return {
    ...listedError(code, service),
    ...errorText(code),
    fields: fieldsOfCode(code).map((name) => {
      const { type, description } = problemFields[name]
      return { name, type: typeof type === 'string' ? type : type.join(' or '), description }
    }),
    operations: answering.map(({ route: { id, method, path }, version }) => ({
      ...{ id, method },
      path: `${version ? `/${version}` : ''}${path}`.replace(/:(\w+)/g, '{$1}'),
    })),
  }
}
