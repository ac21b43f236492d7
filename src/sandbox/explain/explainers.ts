import { callerExplainers } from './codes/callers.js'
import { consentExplainers } from './codes/consent.js'
import { controlExplainers } from './codes/controls.js'
import { marketExplainers } from './codes/market.js'
import { oauthExplainers } from './codes/oauth.js'
import { ownerExplainers } from './codes/owners.js'
import { paymentExplainers } from './codes/payments.js'
import { requestExplainers } from './codes/requests.js'
import type { Explainers } from './facts/explainer.js'

/** What reads the state of the moment, by the codes for which it matters. */
export const explainers: Explainers = {
  ...requestExplainers,
  ...callerExplainers,
  ...oauthExplainers,
  ...consentExplainers,
  ...ownerExplainers,
  ...paymentExplainers,
  ...marketExplainers,
  ...controlExplainers,
}
