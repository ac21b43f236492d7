import type { Problem, ProblemCode } from '../../../base/problem.js'
import { ANY_SITE, formPage } from '../../../http/pages/form-page.js'
import { wantsPage } from '../../../http/pages/html.js'
import { type Reply, reply } from '../../../http/reply.js'

/** Problems whose codes are OAuth's own words, or stand for one of them. */
const oauthCodes: Partial<Record<ProblemCode, string>> = {
  invalid_grant: 'invalid_grant',
  unauthorized_client: 'unauthorized_client',
  unsupported_grant_type: 'unsupported_grant_type',
  invalid_scope: 'invalid_scope',
  invalid_target: 'invalid_target',
  invalid_redirect_uri: 'invalid_redirect_uri',
  invalid_client_metadata: 'invalid_client_metadata',
  invalid_client: 'invalid_client',
  too_many_failures: 'invalid_client',
  insufficient_scope: 'insufficient_scope',
  authorization_missing: 'invalid_token',
  token_invalid: 'invalid_token',
  agent_token_required: 'invalid_token',
}

const oauthCodeOf = ({ code, status }: Problem): string =>
  oauthCodes[code] ?? (status >= 500 ? 'server_error' : 'invalid_request')

/** OAuth's error body (RFC 6749 section 5.2), with the status and code that every refusal of the service has. */
export const oauthRefusal = (refused: Problem): Reply<object> =>
  reply({ value: { ...refused.body, error: oauthCodeOf(refused), error_description: refused.message } })

/** RFC 7591 section 3.2.2: metadata that cannot be read is invalid metadata. */
export function registrationRefusal(refused: Problem): Reply<object> {
  const isMetadata = refused.code === 'field_invalid' || refused.code === 'body_malformed'
  const error = isMetadata ? 'invalid_client_metadata' : oauthCodeOf(refused)
  return reply({ value: { ...refused.body, error, error_description: refused.message } })
}

/** In place of a page that cannot be had: for people a page, for programs OAuth's JSON. */
export const pageRefusal = (refused: Problem, headers: Pick<Headers, 'get'>): Reply<object> =>
  wantsPage(headers)
    ? formPage({
        title: 'This cannot go on',
        alert: refused.message,
        refused,
        leadsTo: ANY_SITE,
        body: <p class="muted">Nothing was changed. Go back to the app that sent you here and try again.</p>,
      })
    : oauthRefusal(refused)
