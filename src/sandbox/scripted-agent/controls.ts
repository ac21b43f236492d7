import { type HostileItem, hostileItems } from '../../agents/mcp/tools/hostile.js'
import type { Sandbox } from '../controls/sandbox.js'
import { type AgentOptions, connectAgent, type ScriptedAgent } from './agent.js'
import { People, type Stage } from './person.js'

/** Agents for your own tests. */
export interface AgentControls {
  /** An app that the user of that email has connected, as any MCP client connects, through the pages that people see. */
  agent(options: AgentOptions): Promise<ScriptedAgent>
  /** Items whose sellers try what sellers should not. */
  readonly hostileItems: readonly HostileItem[]
}

/** A sandbox with the controls of agents, which connect to the service that it is of. */
export function withAgents(sandbox: Sandbox, service: Omit<Stage, 'sandbox'>): Sandbox & AgentControls {
  const people = new People({ ...service, sandbox })
  return Object.assign(sandbox, { agent: (options: AgentOptions) => connectAgent(options, people), hostileItems })
}
