import type { Reader } from '../../../storage/storage.js'
import { buyerTools } from './buyer-tools.js'
import { featuredTool, featuredTools } from './featured.js'
import { sellerTools } from './seller-tools.js'
import type { Tool } from './tool.js'
import type { McpVisit } from './visit.js'

export { buyerTools, sellerTools }

const builtIn = new Map([...buyerTools, ...sellerTools].map((tool) => [tool.name, tool]))

/** The tools that a visitor sees: seller tools only with a granted account, and an own server's featured items. */
export async function offeredTools(tx: Reader, { agent, within }: McpVisit): Promise<Tool[]> {
  const own = agent.account_id === null ? buyerTools : [...buyerTools, ...sellerTools]
  return [...own, ...(within === undefined ? [] : await featuredTools(tx, within))]
}

/** Returns the tool with this name, also a seller tool without a granted account, which explains that itself. */
export async function toolNamed(tx: Reader, { within }: McpVisit, name: string): Promise<Tool | undefined> {
  const own = builtIn.get(name)
  if (own || within === undefined) return own
  return featuredTool(tx, within, name)
}
