import type { Problem, ProblemCode } from '../../../base/problem.js'
import { ANY_SITE, formPage } from '../../../http/pages/form-page.js'
import { wantsPage } from '../../../http/pages/html.js'
import { type Reply, reply } from '../../../http/reply.js'

/** OAuth's error code for each problem. */
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

/** An error body of OAuth (RFC 6749 section 5.2), with farthing's own status and code added. */
export const oauthRefusal = (refused: Problem): Reply<object> =>
  reply({ value: { ...refused.body, error: oauthCodeOf(refused), error_description: refused.message } })

/** An error of client registration (RFC 7591 section 3.2.2). A malformed body counts as invalid metadata. */
export function registrationRefusal(refused: Problem): Reply<object> {
  const isMetadata = refused.code === 'field_invalid' || refused.code === 'body_malformed'
  const error = isMetadata ? 'invalid_client_metadata' : oauthCodeOf(refused)
  return reply({ value: { ...refused.body, error, error_description: refused.message } })
}

/** An error of a page: a page for people, OAuth's JSON for programs. */
export const pageRefusal = (refused: Problem, headers: Pick<Headers, 'get'>): Reply<object> =>
  wantsPage(headers)
    ? formPage({
        title: 'Something went wrong',
        alert: refused.message,
        refused,
        leadsTo: ANY_SITE,
        body: <p class="muted">Nothing was changed. Go back to the app that sent you here and try again.</p>,
      })
    : oauthRefusal(refused)
