import type { Problem, ProblemCode } from '../../base/problem.js'
import { type Reply, reply } from '../reply.js'
import { errorListMarkdown, errorMarkdown } from './error-markdown.js'
import { errorListPage, errorPage, unknownErrorPage } from './error-page.js'
import {
  type ExplainedError,
  type ExplainingService,
  explainError,
  type ListedError,
  listErrors,
} from './explained-error.js'

/** What a caller wants to read. */
export type ErrorFormat = 'html' | 'json' | 'markdown'

export function answerList(format: ErrorFormat, service: ExplainingService): Reply<{ errors: ListedError[] }> {
  const errors = listErrors(service)
  if (format === 'json') return reply({ value: { errors } })
  return format === 'markdown' ? markdown(errorListMarkdown(errors)) : errorListPage(errors)
}

export function answerCode(code: ProblemCode, format: ErrorFormat, service: ExplainingService): Reply<ExplainedError> {
  const explained = explainError(code, service)
  if (format === 'json') return reply({ value: explained })
  return format === 'markdown' ? markdown(errorMarkdown(explained)) : errorPage(explained, service)
}

/** Answers a code that does not exist. Throws the problem to programs. */
export function answerUnknown(refused: Problem, format: ErrorFormat, service: ExplainingService): Reply<never> {
  if (format !== 'html') throw refused
  return unknownErrorPage(refused, service)
}

const markdown = (text: string): Reply<never> =>
  reply({ headers: { 'content-type': 'text/markdown; charset=utf-8' }, body: text })
