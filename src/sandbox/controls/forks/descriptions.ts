import type { TextsOf } from '../../../http/openapi/texts.js'
import type { forkRoutes } from './routes.js'

export const forkTexts: TextsOf<typeof forkRoutes> = {
  operations: {
    createFork: 'What happens in the fork never shows here. At most 1,000 at a time. A retry creates another.',
    forkSandbox: 'It does what `createFork` does. A retry creates another.',
    listForks: 'It changes nothing.',
    removeFork: 'Its requests in progress end first. A retry gets `not_found`.',
  },
  fields: { forks: 'The forks.', id: 'The id of the fork.' },
  components: {
    Fork: {
      is: 'A fork of a sandbox.',
      id: 'Its id.',
      url: 'Its base URL. `<url>/v4/dq` lists its digital quantities.',
    },
  },
}
