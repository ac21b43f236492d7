import { type Evidence, isWeaker } from '../../base/evidence.js'
import { isWeakField, withoutWeak } from '../fields/graded.js'
import type { z } from '../fields/schema.js'
import { HARD_TO_GUESS } from '../idempotency/idempotency.js'
import { type Auth, evidenceOf, isGraded, type Route, type Version } from '../route.js'
import type { Example } from './document.js'
import { headersOfPayment, orRelayed, refusals, successHeaders } from './errors.js'
import type { DocumentPart, Schemas } from './schemas.js'
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
  const isStrict = isWeaker('designed', least)
  const onlyBody = route.queryInBody && isStrict ? query : undefined
  const asBody = onlyBody
    ? ' Where a caller cannot send a body with GET, the query takes its fields.'
    : route.queryInBody
      ? ' The fields of the query may also come as a JSON body.'
      : ''
  /** The publishable secret is a security scheme. */
  const parametersIn = (place: 'path' | 'query', fields: z.ZodMiniObject | undefined, values: Example['params'] = {}) =>
    (fields ? schemas.fields(id, fields) : [])
      .filter(({ name }) => place === 'path' || name !== 'public_secret')
      .map((field) => ({
        ...{ in: place, ...field },
        ...(Object.hasOwn(values, field.name) && { example: values[field.name] }),
      }))
  const jsonBody = (fields: z.ZodMiniObject, isOptional: boolean | undefined, sent: unknown) => {
    const schema = schemas.reference(fields, { id, name: componentName(id, 'Body') })
    const json = { schema, ...recorded(fields, sent, least) }
    return {
      required: !isOptional,
      content: { 'application/json': json, 'application/x-www-form-urlencoded': { schema } },
    }
  }
  return {
    operationId: version === undefined || version === route.versions?.[0] ? id : `${id}_${version}`,
    summary: route.summary,
    description: description + asBody,
    tags: [route.tag],
    'x-evidence': evidenceOf(route, version),
    security: securityOf(route, descriptions, least),
    parameters: [
      ...parametersIn('path', route.params, example?.params),
      ...parametersIn('query', onlyBody ? undefined : query, example?.query),
      ...(route.deviceToken && !isStrict ? [{ ...deviceToken, required: route.deviceToken === 'required' }] : []),
      ...(route.idempotent && !isStrict ? [idempotencyKey(route)] : []),
    ],
    ...(onlyBody && { requestBody: jsonBody(onlyBody, true, example?.query) }),
    ...(body && { requestBody: jsonBody(body, route.bodyOptional, example?.body) }),
    ...(route.text && {
      requestBody: { required: true, content: { [route.text.type]: { schema: { type: 'string' } } } },
    }),
    responses: {
      ...answers(route, parts),
      ...refusals(route, componentName(id, 'Error'), schemas, isGraded(route) ? least : 'designed'),
    },
  }
}

/** Of what only one operation has. `Waiting` is the answer 202 of a call that must be repeated. */
const componentName = (id: string, part: 'Body' | 'Answer' | 'Waiting' | 'Error'): string =>
  `${id[0]?.toUpperCase()}${id.slice(1)}${part}`

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

/** What the tour sent or got, without the fields that the document does not show. */
const recorded = (schema: z.ZodMiniType, value: unknown, least: Evidence): DocumentPart =>
  value === undefined ? {} : { examples: { recorded: { value: withoutWeak(schema, value, least) } } }

function answers(route: Route, parts: Parts): DocumentPart {
  const { schemas } = parts
  const { id, waits, status = 200 } = route
  const location = route.redirects || status === 303 ? ['Location'] : []
  return {
    [String(status)]: {
      description: route.summary,
      ...successHeaders(route, status === 303 ? location : route.relays ? headersOfPayment(route) : []),
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
        ...successHeaders(route, headersOfPayment(route)),
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
  const name = componentName(id, 'Answer')
  const isShown = (type: string) => type !== 'application/json' || !result || !isWeakField(result, least)
  const shape = (type: string) =>
    type === 'application/json' && result
      ? schemas.reference(result, { id, name })
      : { type: 'string', ...(type === 'application/pdf' && { contentMediaType: type }) }
  const examples = (type: string) =>
    type === 'application/json' && result ? recorded(result, example?.answer, least) : {}
  const own = produces
    // What is relayed has any type.
    .filter((type) => type !== '*/*' && isShown(type))
    .map((type) => [type, { schema: relays ? orRelayed(schemas, name, shape(type)) : shape(type), ...examples(type) }])
  return { ...Object.fromEntries(own), ...(relays && { '*/*': { schema: {} } }) }
}

const one = (name: string, scopes: readonly string[] = []): DocumentPart => ({ [name]: scopes })
const nothing: DocumentPart = {}

/** The security requirements of an operation: any one of them is enough. */
function securityOf(route: Route, descriptions: Descriptions, least: Evidence): DocumentPart[] {
  const own = descriptions.security(route.id)
  const found =
    own?.map((names) => Object.fromEntries(names.map((name) => [name, []]))) ??
    (route.scope === 'sandbox' ? controlSecurity(route) : route.auth.flatMap((kind) => schemesOf(kind, route, least)))
  const texts = new Set(found.map((requirement) => JSON.stringify(requirement)))
  return [...texts].map((text): DocumentPart => JSON.parse(text))
}

/** Callers on the sandbox's own machine need no token. */
const controlSecurity = ({ isOpen }: Route): DocumentPart[] =>
  isOpen ? [nothing] : [nothing, one('controlToken'), one('controlBearer')]

function schemesOf(kind: Auth, route: Route, least: Evidence): DocumentPart[] {
  const schemes: Record<Auth, () => DocumentPart[]> = {
    none: () => [nothing],
    account: () => [one('accessToken')],
    user: () => [one('accessToken')],
    agent: () => [one('agentToken', [route.agentScope ?? 'twin'])],
    session: () => [one('sessionHeader'), one('sessionCookie')],
    page: () => [one('sessionHeader')],
    guest: () => [one('sessionHeader'), one('sessionCookie'), nothing],
    embed: () => secretOf(route, least),
    client: () => [one('clientCredentials')],
    refresh: () => [one('refreshToken')],
  }
  return schemes[kind]()
}

/** A publishable secret, which is a field in a body. Strict modes take it where the interface shows it. */
function secretOf({ method, query, body, queryInBody }: Route, least: Evidence): DocumentPart[] {
  if (!isWeaker('designed', least)) return [method === 'GET' ? one('publicSecret') : nothing]
  const field = (queryInBody ? query : body)?.shape.public_secret
  return field && !isWeakField(field, least) ? [nothing] : []
}

export const securitySchemes = (baseUrl: string): Record<string, DocumentPart> => ({
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token of an account or a user, from POST /v4/account/oauth/token. It lasts one hour.',
  },
  agentToken: {
    type: 'oauth2',
    description: 'The OpenID Connect access token of an app that a user connected.',
    flows: {
      authorizationCode: {
        authorizationUrl: `${baseUrl}/v4/oidc/auth`,
        tokenUrl: `${baseUrl}/v4/oidc/token`,
        refreshUrl: `${baseUrl}/v4/oidc/token`,
        scopes: {
          openid: 'Who the user is.',
          profile: "The user's name.",
          email: "The user's email address.",
          twin: "The user's twins, and what agents may do.",
          offline_access: 'A refresh token.',
        },
      },
    },
  },
  clientCredentials: {
    type: 'http',
    scheme: 'basic',
    description: '`client_id` as the user name and `client_secret` as the password.',
  },
  refreshToken: { type: 'http', scheme: 'bearer', description: 'A refresh token. Each works once, within 24 hours.' },
  registrationToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The `registration_access_token` from the registration of the app.',
  },
  publicSecret: {
    type: 'apiKey',
    in: 'query',
    name: 'public_secret',
    description: "An account's publishable secret. It is no secret, and only lets a page read what it shows.",
  },
  sessionHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Session-ID',
    description: 'A session, as the last answer to it returned it in `X-Session-ID`.',
  },
  sessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'session_id',
    description: "The same session as a cookie. It changes something only for requests from the service's own origin.",
  },
  controlToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Control-Token',
    description: 'The control token that the sandbox prints when it starts. Its own machine needs none.',
  },
  controlBearer: { type: 'http', scheme: 'bearer', description: 'The control token, as a Bearer token.' },
})
