import { type Evidence, isWeaker } from '../../base/evidence.js'
import { fieldsOfCode, type ProblemCode, problemSentence, problemStatusIn } from '../../base/problem.js'
import { problemFields } from '../../base/problem-fields.js'
import type { Route } from '../route.js'
import { errorsOf } from '../routing/errors.js'
import { refusalHeaders } from './headers.js'
import type { DocumentPart, Schemas } from './schemas.js'

const error = { type: 'string', description: 'One sentence: what is wrong and what to do.' }
const codeText = 'A stable error code for programs.'
const statusText = 'The HTTP status.'
const docs = {
  type: 'string',
  format: 'uri',
  'x-evidence': 'designed',
  description: 'The address of the page that explains the code.',
}

/** The shape that every error has (Micro Payment Service Interface, section 7). */
export const problemSchema = (least: Evidence): DocumentPart => ({
  type: 'object',
  description: 'An error.',
  required: ['error', 'status', ...(showsCode(least) ? ['code'] : [])],
  properties: {
    error,
    status: { type: 'integer', description: statusText },
    ...(showsCode(least) && { code: { type: 'string', 'x-evidence': 'designed', description: codeText }, docs }),
  },
})

/** The codes that strict modes show too. */
const strictCodes: ReadonlySet<ProblemCode> = new Set(['account_not_granted', 'evidence_refused'])

const showsCode = (least: Evidence): boolean => !isWeaker('designed', least)

/** What an operation without refusals of its own may still answer. */
export const frameResponses: Record<string, DocumentPart> = {
  Malformed: {
    description: `farthing could not read the request: ${problemSentence('header_malformed')}`,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
  },
}

/** One response for each status that an operation may refuse with. All have the same component as their schema. */
export function refusals(route: Route, name: string, schemas: Schemas, least: Evidence): Record<string, DocumentPart> {
  const codes = errorsOf(route)
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of codes) {
    const status = problemStatusIn(least, code)
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const schema = schemas.add(name, errorSchema(route, codes, least))
  const shown = showsCode(least)
  const responses = Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => [
      String(status),
      {
        description: ofStatus
          .map((code) => (shown ? `\`${code}\`: ${problemSentence(code)}` : problemSentence(code)))
          .join('\n\n'),
        ...(shown && { 'x-codes': ofStatus }),
        ...refusalHeaders(route, status, ofStatus),
        content: {
          'application/json': { schema: orOther(route, { status, name, schema, schemas }) },
          ...(route.relays && { '*/*': { schema: {} } }),
          ...(hasPage(route) && { 'text/html': { schema: { type: 'string' } } }),
        },
      },
    ]),
  )
  const isRefused = Object.keys(responses).some((status) => status.startsWith('4'))
  return isRefused ? responses : { ...responses, '400': { $ref: '#/components/responses/Malformed' } }
}

interface Either {
  readonly name: string
  readonly schema: DocumentPart
  readonly schemas: Schemas
}

/** A component for the schema of an answer of the service, or whatever an upstream service answered. */
export const orRelayed = ({ name, schema, schemas }: Either): DocumentPart =>
  schemas.add(`${name}OrRelayed`, { anyOf: [schema, relayedAnswer], description: 'Of the service, or relayed.' })

/** What an upstream service answered, where the service has an answer of its own with the same status. */
const relayedAnswer: DocumentPart = { description: 'The answer of the upstream service, if it has this status.' }

/** A problem, or what else an operation answers with a status at which it refuses. */
function orOther(
  { relays, isJsonRpc }: Route,
  { status, ...either }: Either & { readonly status: number },
): DocumentPart {
  if (relays) return orRelayed(either)
  if (!isJsonRpc || status !== 400) return either.schema
  const anyOf = [either.schema, { $ref: '#/components/schemas/JsonRpcMessage' }]
  return either.schemas.add(`${either.name}OrMessage`, { anyOf, description: 'An error, or that of JSON-RPC.' })
}

/** Whether browsers get a page that says what is wrong. */
const hasPage = ({ refused, produces, auth }: Route): boolean =>
  refused?.isPage ?? (produces?.includes('text/html') && auth.includes('none')) ?? false

function errorSchema(
  { refused, repeatsErrorAsMessage }: Route,
  codes: readonly ProblemCode[],
  least: Evidence,
): DocumentPart {
  const oauthCode = refused?.oauthCode
  const statuses = [...new Set(codes.map((code) => problemStatusIn(least, code)))].sort((a, b) => a - b)
  const shown = showsCode(least)
  const extra = [...new Set(codes.flatMap((code) => fieldsOfCode(code)))]
  const shownCodes = shown ? codes : codes.filter((code) => strictCodes.has(code))
  const grade = shown && { 'x-evidence': 'designed' }
  const own: DocumentPart = {
    type: 'object',
    // Every problem has `error`: only what is declared here is required here.
    required: [
      ...(oauthCode ? ['error'] : []),
      'status',
      ...(shown ? ['code'] : []),
      ...(repeatsErrorAsMessage ? ['message'] : []),
      ...(oauthCode ? ['error_description', 'error_uri'] : shown ? ['docs'] : []),
    ],
    properties: {
      ...(oauthCode && {
        error: { type: 'string', enum: [...new Set(codes.map(oauthCode))], description: 'The error code of OAuth.' },
        error_description: { ...error, ...grade },
        error_uri: docs,
      }),
      ...(!oauthCode && shown && { docs }),
      ...(repeatsErrorAsMessage && { message: error }),
      status: { type: 'integer', enum: statuses, description: statusText },
      ...(shownCodes.length > 0 && { code: { type: 'string', enum: shownCodes, ...grade, description: codeText } }),
      ...Object.fromEntries(
        extra
          .filter((field) => shown || field === 'changed')
          .map((field) => [field, { ...problemFields[field], ...(field !== 'changed' && grade) }]),
      ),
    },
  }
  return { allOf: [{ $ref: '#/components/schemas/Problem' }, own], description: 'An error of this operation.' }
}
