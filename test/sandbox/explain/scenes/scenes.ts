import { approvalScenes } from './approvals.js'
import { bodyScenes } from './bodies.js'
import { callerScenes } from './callers.js'
import { cardScenes } from './cards.js'
import { catalogScenes } from './catalog.js'
import { checkoutScenes } from './checkout.js'
import { controlScenes } from './controls.js'
import { oauthScenes } from './oauth.js'
import { ownerScenes } from './owners.js'
import { paymentScenes } from './payments.js'
import { proofScenes } from './proofs.js'
import { requestScenes } from './requests.js'
import type { Scenes } from './scene.js'
import { secondFactorScenes } from './second-factor.js'
import { serviceScenes } from './service.js'
import { signInScenes } from './sign-in.js'
import { webhookScenes } from './webhooks.js'
import { x402Scenes } from './x402.js'

/** The scenes of every error code, by `code` or `code (case)`. */
export const scenes: Scenes = {
  ...bodyScenes,
  ...requestScenes,
  ...callerScenes,
  ...signInScenes,
  ...ownerScenes,
  ...oauthScenes,
  ...approvalScenes,
  ...secondFactorScenes,
  ...paymentScenes,
  ...proofScenes,
  ...catalogScenes,
  ...checkoutScenes,
  ...cardScenes,
  ...serviceScenes,
  ...controlScenes,
  ...webhookScenes,
  ...x402Scenes,
}

/** Codes without a scene, each with the reason. */
export const excused: Readonly<Record<string, string>> = {
  target_malformed: 'the Node adapter refuses the request line before the service sees a request, so there is no entry',
  host_refused: 'the sandbox refuses unknown hosts before it keeps anything of them, so there is no entry',
  not_ready: 'the journal leaves probes out, so there is no entry',
  not_replayable: 'the journal keeps no requests about itself, so a refused replay has no entry',
}
