import { route } from '../http/route.js'
import { z } from '../http/schema.js'
import { agentAccount } from './account.js'

export const readAgentAccount = route({
  id: 'readAgentAccount',
  summary:
    'The business account that the user granted the agent, as it stands now, and whether there is one to choose.',
  evidence: 'documented',
  method: 'GET',
  path: '/agent/account',
  versions: ['v4'],
  auth: ['agent'],
  result: z.object({
    account: z.nullable(z.object({ id: z.int(), name: z.nullable(z.string()) })),
    choosable: z.boolean(),
  }),
  read: (tx, { principal }) => agentAccount(tx, principal),
})

export default [readAgentAccount]
