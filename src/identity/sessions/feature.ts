import { endFormerGeneration, FORMER_GENERATION } from './first-proof.js'
import { sessions } from './session.js'
import { signInCodes } from './sign-in-code.js'

export const sessionFeature = {
  areas: ['session', 'sessions'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [sessions, signInCodes],
  timers: { [FORMER_GENERATION]: async () => endFormerGeneration },
}
