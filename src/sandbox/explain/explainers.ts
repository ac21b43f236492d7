import type { ProblemCode } from '../../base/problem.js'
import { approvalExplainers } from './codes/approvals.js'
import { binderImportExplainers } from './codes/binder-imports.js'
import { bodyExplainers } from './codes/bodies.js'
import { callerExplainers } from './codes/callers.js'
import { cardExplainers } from './codes/cards.js'
import { catalogExplainers } from './codes/catalog.js'
import { checkoutExplainers } from './codes/checkout.js'
import { oauthExplainers } from './codes/oauth.js'
import { ownerExplainers } from './codes/owners.js'
import { paymentExplainers } from './codes/payments.js'
import { proofExplainers } from './codes/proofs.js'
import { requestExplainers } from './codes/requests.js'
import { secondFactorExplainers } from './codes/second-factor.js'
import { serviceExplainers } from './codes/service.js'
import { signInExplainers } from './codes/sign-in.js'
import { webhookExplainers } from './codes/webhooks.js'
import type { Explainer } from './facts/explainer.js'

/** The explainer of every error code. A code without one does not compile. */
export const explainers: Readonly<Record<ProblemCode, Explainer>> = {
  ...bodyExplainers,
  ...requestExplainers,
  ...callerExplainers,
  ...signInExplainers,
  ...ownerExplainers,
  ...oauthExplainers,
  ...approvalExplainers,
  ...secondFactorExplainers,
  ...paymentExplainers,
  ...proofExplainers,
  ...catalogExplainers,
  ...checkoutExplainers,
  ...cardExplainers,
  ...serviceExplainers,
  ...binderImportExplainers,
  ...webhookExplainers,
}
