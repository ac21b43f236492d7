import { type Evidence, isWeaker } from '../../base/evidence.js'
import { isWeakField, withoutWeak } from '../fields/graded.js'
import type { z } from '../fields/schema.js'
import { HARD_TO_GUESS } from '../idempotency/idempotency.js'
import { evidenceOf, isGraded, type Route, type Version } from '../route.js'
import { orRelayed, refusals } from './errors.js'
import type { Example } from './examples.js'
import { headersOfPayment, successHeaders } from './headers.js'
import type { DocumentPart, Schemas } from './schemas.js'
import { securityOf } from './security.js'
import type { Descriptions } from './texts.js'

interface Parts {
  readonly schemas: Schemas
  readonly descriptions: Descriptions
  readonly least: Evidence
  readonly example: Example | undefined
}

/** The operation of a route under one version. Its id has the version as a suffix, except in the first version. */
export function operation(route: Route, version: Version | undefined, parts: Parts): DocumentPart {
  const { schemas, descriptions, least, example } = parts
  const { id, body, query } = route
  const description = descriptions.operation(id)
  // Strict modes take them as the interface shows them, wherever a caller can send a body with GET.
  const onlyBody = route.queryInBody && isWeaker('designed', least) ? query : undefined
  const asBody = onlyBody
    ? ' Where a caller cannot send a body with GET, the query takes its fields.'
    : route.queryInBody
      ? ' The fields of the query may also come as a JSON body.'
      : ''
  return {
    operationId: version === undefined || version === route.versions?.[0] ? id : `${id}_${version}`,
    summary: route.summary,
    description: description + asBody,
    tags: [route.tag],
    'x-evidence': evidenceOf(route, version),
    security: securityOf(route, descriptions, least),
    parameters: [
      ...(route.params
        ? schemas
            .fields(id, route.params)
            .map((field) => ({ in: 'path', ...field, ...exampleOf(field, example?.params) }))
        : []),
      ...(query && !onlyBody
        ? schemas
            .fields(id, query)
            .filter(isParameter)
            .map((field) => ({ in: 'query', ...field, ...exampleOf(field, example?.query) }))
        : []),
      ...(route.deviceToken && !isWeaker('designed', least)
        ? [{ ...deviceToken, required: route.deviceToken === 'required' }]
        : []),
      ...(route.idempotent && !isWeaker('designed', least) ? [idempotencyKey(route)] : []),
    ],
    ...(onlyBody && {
      requestBody: requestBody(
        { bodyOptional: true },
        schemas.reference(onlyBody, { id, name: componentName(id, 'Body') }),
        recorded(onlyBody, example?.query, least),
      ),
    }),
    ...(body && {
      requestBody: requestBody(
        route,
        schemas.reference(body, { id, name: componentName(id, 'Body') }),
        recorded(body, example?.body, least),
      ),
    }),
    ...(route.text && { requestBody: textBody(route.text.type) }),
    responses: {
      ...answers(route, parts),
      ...refusals(route, componentName(id, 'Error'), schemas, isGraded(route) ? least : 'designed'),
    },
  }
}

/**
 * The name of a component that only one operation has: its id, and `Body`, `Answer`, `Waiting` (the answer 202 of a call
 * that must be repeated) or `Error`.
 */
const componentName = (id: string, part: 'Body' | 'Answer' | 'Waiting' | 'Error'): string =>
  `${id[0]?.toUpperCase()}${id.slice(1)}${part}`

/** The publishable secret is a security scheme. */
const isParameter = ({ name }: { name: string }): boolean => name !== 'public_secret'

const idempotencyKey = ({ auth, presented }: Route) => ({
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  'x-evidence': 'designed',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  description:
    'If you repeat a request with the same key and body within 24 hours, it changes nothing and gets the first answer.' +
    (auth.some((kind) => kind === 'none' || kind === 'guest') && !presented
      ? ` Without credentials or a session, keys shorter than ${HARD_TO_GUESS} characters are ignored, because others could guess them. Send a UUID.`
      : ''),
})

const deviceToken = {
  name: 'X-Device-Token',
  in: 'header',
  'x-evidence': 'designed',
  schema: { type: 'string' },
  description: 'The token that the device was registered with.',
}

/** The value that the tour sent for a parameter. */
const exampleOf = ({ name }: { name: string }, values: Example['params'] = {}): DocumentPart =>
  Object.hasOwn(values, name) ? { example: values[name] } : {}

/** What the tour sent or got, without the fields that the document does not show. */
const recorded = (schema: z.ZodMiniType, value: unknown, least: Evidence): DocumentPart =>
  value === undefined ? {} : { examples: { recorded: { value: withoutWeak(schema, value, least) } } }

const requestBody = (
  { bodyOptional }: Pick<Route, 'bodyOptional'>,
  schema: DocumentPart,
  examples: DocumentPart,
): DocumentPart => ({
  required: !bodyOptional,
  content: { 'application/json': { schema, ...examples }, 'application/x-www-form-urlencoded': { schema } },
})

const textBody = (type: string): DocumentPart => ({
  required: true,
  content: { [type]: { schema: { type: 'string' } } },
})

function answers(route: Route, parts: Parts): DocumentPart {
  const { schemas } = parts
  const { id, waits } = route
  const { status = 200 } = route
  const location = route.redirects || status === 303 ? ['Location'] : []
  return {
    [String(status)]: {
      description: route.summary,
      ...successHeaders(route, status === 303 ? location : route.relays ? headersOfPayment : []),
      ...(hasBody(route) && { content: contentOf(route, parts) }),
    },
    ...(waits && {
      '202': {
        description: 'Not done yet. Wait for the named request, then repeat the call.',
        ...successHeaders(route),
        content: {
          'application/json': { schema: schemas.reference(waits, { id, name: componentName(id, 'Waiting') }) },
        },
      },
    }),
    ...(route.isJsonRpc && {
      '202': { description: 'The message needs no answer.', ...successHeaders(route) },
      '406': {
        description: 'Accept application/json and text/event-stream.',
        ...successHeaders(route),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/JsonRpcMessage' } } },
      },
    }),
    ...(route.relays && {
      default: {
        description: 'The answer of the upstream service, with its status, media type and body.',
        ...successHeaders(route, headersOfPayment),
        content: { '*/*': { schema: {} } },
      },
    }),
    ...(location.length > 0 && {
      '303': { description: 'A redirect to the page in `Location`.', ...successHeaders(route, location) },
    }),
  }
}

const hasBody = ({ result, produces, status }: Route): boolean => status !== 303 && Boolean(result || produces)

function contentOf(route: Route, { schemas, least, example }: Parts): DocumentPart {
  const { id, result, relays, produces = ['application/json'] } = route
  const isShown = (type: string) => type !== 'application/json' || !result || !isWeakField(result, least)
  const shape = (type: string) =>
    type === 'application/json' && result
      ? schemas.reference(result, { id, name: componentName(id, 'Answer') })
      : { type: 'string', ...(type === 'application/pdf' && { contentMediaType: type }) }
  const named = (schema: DocumentPart) => ({ name: componentName(id, 'Answer'), schema, schemas })
  const examples = (type: string) =>
    type === 'application/json' && result ? recorded(result, example?.answer, least) : {}
  const own = produces
    .filter(isShown)
    .map((type) => [type, { schema: relays ? orRelayed(named(shape(type))) : shape(type), ...examples(type) }])
  return { ...Object.fromEntries(own), ...(relays && { '*/*': { schema: {} } }) }
}
