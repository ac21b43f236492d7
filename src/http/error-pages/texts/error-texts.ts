import type { ProblemCode } from '../../../base/problem.js'
import { callerErrors } from './callers.js'
import { consentErrors } from './consent.js'
import type { ErrorText } from './error-text.js'
import { identityErrors } from './identity.js'
import { marketErrors } from './market.js'
import { oauthErrors } from './oauth.js'
import { paymentErrors } from './payments.js'
import { requestErrors } from './requests.js'
import { serviceErrors } from './service.js'

/** The text of every error code. A code without one does not compile. */
export const errorTexts: Readonly<Record<ProblemCode, ErrorText>> = {
  ...requestErrors,
  ...callerErrors,
  ...identityErrors,
  ...oauthErrors,
  ...consentErrors,
  ...paymentErrors,
  ...marketErrors,
  ...serviceErrors,
}
