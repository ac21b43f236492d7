import { docsOf, type Problem, type ProblemCode, problemStatus } from '../../../base/problem.js'
import { ANY_SITE, formPage } from '../../../http/pages/form-page.js'
import { wantsPage } from '../../../http/pages/html.js'
import { type Refusal, type RefusingService, reply } from '../../../http/reply.js'

/** Codes that OAuth has too, under the same name. */
const ownCodes: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  ...(['invalid_grant', 'unauthorized_client', 'unsupported_grant_type', 'invalid_scope', 'invalid_target'] as const),
  ...(['invalid_redirect_uri', 'invalid_client_metadata', 'invalid_client', 'insufficient_scope'] as const),
])
const oauthCodes: Partial<Record<ProblemCode, string>> = {
  ...{ too_many_failures: 'invalid_client', too_many_fetches: 'temporarily_unavailable' },
  ...{ authorization_missing: 'invalid_token', token_invalid: 'invalid_token', agent_token_required: 'invalid_token' },
}

const oauthCodeOf = (code: ProblemCode): string =>
  oauthCodes[code] ?? (ownCodes.has(code) ? code : problemStatus(code) >= 500 ? 'server_error' : 'invalid_request')

/** An error body of OAuth (RFC 6749 section 5.2), with what the service adds to every refusal, but for `docs`. */
function oauthBody(refused: Problem, error: string, service: RefusingService) {
  const { docs: _, ...added } = service.shown(refused) as { docs?: string }
  return reply({
    value: { ...added, error, error_description: refused.message, error_uri: docsOf(refused.code, service) },
  })
}

export const oauthRefusal: Refusal = Object.assign(
  (...[refused, , service]: Parameters<Refusal>) => oauthBody(refused, oauthCodeOf(refused.code), service),
  { oauthCode: oauthCodeOf },
)

const registrationCodeOf = (code: ProblemCode): string =>
  code === 'field_invalid' || code === 'body_malformed' ? 'invalid_client_metadata' : oauthCodeOf(code)

/** An error of client registration (RFC 7591 section 3.2.2). A malformed body counts as invalid metadata. */
export const registrationRefusal: Refusal = Object.assign(
  (...[refused, , service]: Parameters<Refusal>) => oauthBody(refused, registrationCodeOf(refused.code), service),
  { oauthCode: registrationCodeOf },
)

export const pageRefusal: Refusal = Object.assign(
  (...[refused, headers, service]: Parameters<Refusal>) =>
    wantsPage(headers)
      ? formPage({
          title: 'Something went wrong',
          alert: refused.message,
          refused,
          leadsTo: ANY_SITE,
          body: <p class="muted">Nothing was changed. Go back to the app that sent you here and try again.</p>,
        })
      : oauthRefusal(refused, headers, service),
  { isPage: true, oauthCode: oauthCodeOf },
)
