import type { Problem, ProblemCode } from '../../base/problem.js'
import { type Reply, reply } from '../reply.js'
import { errorListPage, errorPage, unknownErrorPage } from './error-page.js'
import { type ExplainingService, explainError, listErrors } from './explained-error.js'
import type { ExplainedError, ListedError } from './read-errors.js'

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

/** Longer lists of operations say only how many there are. */
const MOST_IN_MARKDOWN = 20

function errorMarkdown(explained: ExplainedError): string {
  const { code, status, error, meaning, causes, fixes, fields, operations } = explained
  const fieldLines = fields.map(({ name, type, description }) => `\`${name}\` (${type}): ${description}`)
  const calls = operations.map(({ id, method, path }) => `\`${id}\`: \`${method} ${path}\``)
  return [
    `# ${code}`,
    `**HTTP ${status}.** ${error}`,
    '## What it means',
    meaning,
    ...section('Usual causes', causes),
    ...section('How to fix it', fixes),
    ...section('Fields of the error', fieldLines),
    ...(operations.length <= MOST_IN_MARKDOWN
      ? section('Operations that answer with it', calls)
      : ['## Operations that answer with it', `${operations.length} operations.`]),
  ]
    .join('\n\n')
    .concat('\n')
}

const errorListMarkdown = (errors: readonly ListedError[]): string =>
  ['# Errors', errors.map(({ code, status, error, docs }) => `- ${status} [\`${code}\`](${docs}): ${error}`).join('\n')]
    .join('\n\n')
    .concat('\n')

const section = (heading: string, items: readonly string[]): string[] =>
  items.length === 0 ? [] : [`## ${heading}`, items.map((item) => `- ${item}`).join('\n')]
