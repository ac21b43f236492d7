import { problemCodes } from '../../src/base/problem.js'
import { explainError, listErrors } from '../../src/http/error-pages/explained-error.js'
import type { ExplainedError } from '../../src/http/error-pages/read-errors.js'
import { routeList } from '../route-table.js'
import { linkTo, operations } from './document.js'
import { code, page, prose, table } from './markdown.js'

/** More operations than these are not listed. */
const FEW = 15

const service = { baseUrl: 'http://127.0.0.1:4242', evidence: 'designed', routes: routeList } as const

/** A section for each error code, with the texts that a service itself shows at the `docs` of an error. */
export const errorsPage = (): string =>
  page(
    '# Errors',
    'An error is `{ error, status, code, docs }`. `error` is a sentence that says what is wrong and what to do. `code` never changes. `docs` is the address of a page of the service that says the same as this one. Some codes have further fields. A refused call changes nothing.',
    `There are ${problemCodes.length} codes.`,
    listErrors(service).flatMap((each) => errorPart(explainError(each.code, service))),
  )

const errorPart = (error: ExplainedError): string[] => [
  `## ${error.code} {#${error.code}}`,
  `**${error.status}.** ${prose(error.error)}`,
  ...(error.meaning === error.error ? [] : [prose(error.meaning)]),
  ...list('Usual causes', error.causes),
  ...list('How to fix it', error.fixes),
  ...table(
    ['field', 'type', 'what it is'],
    error.fields.map(({ name, type, description }) => [code(name), type, prose(description)]),
  ),
  answering(error),
]

const list = (title: string, items: readonly string[]): string[] =>
  items.length === 0 ? [] : [`**${title}**`, items.map((item) => `- ${prose(item)}`).join('\n')]

function answering(error: ExplainedError): string {
  const ids = new Set(error.operations.map(({ id }) => id))
  const found = operations.filter(({ id }) => ids.has(id))
  if (found.length === 0) return 'It is the answer to requests that reach no operation.'
  return found.length > FEW
    ? `${found.length} of ${operations.length} operations may answer with it.`
    : `From ${found.map(linkTo).join(', ')}.`
}
