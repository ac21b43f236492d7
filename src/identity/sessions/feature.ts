import { endFormerGeneration, FORMER_GENERATION } from './first-proof.js'
import { sessions } from './session.js'
import { signInCodes } from './sign-in-code.js'

export const sessionFeature = {
  areas: ['session', 'sessions'],
  load: async () => (await import('./routes.js')).sessionRoutes,
  describe: async () => (await import('./descriptions.js')).sessionTexts,
  collections: [sessions, signInCodes],
  timers: {
    [FORMER_GENERATION]: async () => endFormerGeneration,
  },
}
