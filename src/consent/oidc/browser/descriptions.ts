import type { TextsOf } from '../../../http/openapi/texts.js'
import type { oidcBrowserRoutes } from './routes.js'

export const oidcBrowserTexts: TextsOf<typeof oidcBrowserRoutes> = {
  operations: {
    authorizeOidc:
      'For browsers. The redirect leads to the pages of sign-in, or back to the app with a code or an OAuth error.',
    authorizeOidcByForm: 'For browsers.',
    endOidcSession: 'For browsers. Without a valid `id_token_hint`, a page asks first.',
    endOidcSessionByForm: 'For browsers. It changes nothing by itself.',
    confirmEndOidcSession: 'For browsers, from the page that asks.',
    readInteraction: 'For the browser in which the sign-in began.',
    answerInteraction: 'For the browser in which the sign-in began.',
  },
  fields: {
    id: 'The id of the sign-in.',
    email: 'The email address of the user.',
    account: 'The id of the business account to grant, or empty for none.',
    client_id: 'The id of the app.',
    response_type: '`code`.',
    response_mode: '`query`, `fragment` or `form_post`. Default: `query`.',
    nonce: 'A value of the app that farthing returns in the id token.',
    code_challenge: 'The hash of a verifier (RFC 7636).',
    code_challenge_method: '`S256`.',
    prompt: 'Whether pages are shown: `none`, `login`, `consent` or `select_account`.',
    max_age: 'How many seconds ago the user may have signed in.',
    login_hint: 'The email address that the page suggests.',
    id_token_hint: 'An id token of the user.',
    request: 'Not supported.',
    request_uri: 'Not supported.',
    registration: 'Not supported.',
    post_logout_redirect_uri: 'Where to return after signing out. It must be registered.',
  },
  components: {
    AuthorizationRequest: { is: 'A request for a code (OpenID Connect Core 1.0 section 3.1.2.1).' },
    EndSessionRequest: { is: 'A request to sign out (OpenID Connect RP-Initiated Logout 1.0).' },
  },
}
