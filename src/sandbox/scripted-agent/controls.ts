import { load } from '../../base/load.js'
import type { Parts } from '../../base/parts.js'
import { checkShape } from '../../http/fields/field.js'
import { z } from '../../http/fields/schema.js'
import type { Sandbox } from '../controls/sandbox.js'
import type { AgentOptions, ScriptedAgent } from './agent.js'
import { type HostileItem, hostileItems } from './hostile.js'
import { scriptedAgentsKey } from './part.js'
import type { People, Stage } from './person.js'

/** The pages that the person fills in check the email. */
const AgentShape = z.strictObject({
  email: z.string(),
  account: z.optional(z.int()),
  name: z.optional(z.string()),
  server: z.optional(z.int()),
  protocol: z.optional(z.enum(['2026-07-28', '2025-11-25'])),
  inPlace: z.optional(z.enum(['approve', 'reject'])),
})

/** Controls of agents for your own tests. */
export interface AgentControls {
  /** Connects an app for the user with this email, like any MCP client, through the pages that people see. */
  agent(options: AgentOptions): Promise<ScriptedAgent>
  /** Items of malicious sellers. */
  readonly hostileItems: readonly HostileItem[]
}

/** Adds the controls of agents to a sandbox. */
export function withAgents(
  sandbox: Sandbox,
  service: Omit<Stage, 'sandbox'> & { readonly parts: Parts },
): Sandbox & AgentControls {
  let people: People | undefined
  const agent = async (options: AgentOptions) => {
    const checked = checkShape(AgentShape, options)
    const { connectAgent } = await service.parts.load(scriptedAgentsKey)
    const { People } = await load(() => import('./person.js'))
    people ??= new People({ ...service, sandbox })
    return connectAgent(checked, people)
  }
  return Object.assign(sandbox, { agent, hostileItems })
}
