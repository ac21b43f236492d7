import { type HostileItem, hostileItems } from '../../agents/mcp/tools/hostile.js'
import type { Sandbox } from '../controls/sandbox.js'
import { type AgentOptions, connectAgent, type ScriptedAgent } from './agent.js'
import { People, type Stage } from './person.js'

/** Controls of agents for your own tests. */
export interface AgentControls {
  /** Connects an app for the user with this email, like any MCP client, through the pages that people see. */
  agent(options: AgentOptions): Promise<ScriptedAgent>
  /** Items of malicious sellers. */
  readonly hostileItems: readonly HostileItem[]
}

/** Adds the controls of agents to a sandbox. */
export function withAgents(sandbox: Sandbox, service: Omit<Stage, 'sandbox'>): Sandbox & AgentControls {
  const people = new People({ ...service, sandbox })
  return Object.assign(sandbox, { agent: (options: AgentOptions) => connectAgent(options, people), hostileItems })
}
