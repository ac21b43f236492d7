import { mcpKey } from './agents/mcp/part.js'
import { type Part, part } from './base/parts.js'
import { fontsKey } from './market/billing/pdf/part.js'
import { csvKey } from './payments/binder-imports/part.js'
import { explainKey } from './sandbox/explain/part.js'
import { scriptedAgentsKey } from './sandbox/scripted-agent/part.js'
import { toolsKey } from './sandbox/tools/part.js'

/**
 * What `createService` of `farthing/slim` leaves out unless it is given: `createService({ parts: [csv, explain] })`.
 * A bundler drops those that nobody imports, because their calls are marked as pure.
 */

export type { Part }

/** Imports binders from CSV. */
export const csv: Part = /* @__PURE__ */ part(csvKey, () => import('./payments/binder-imports/import.js'))

/** Explains answers: `sandbox.requests.explain(id)`, and its pages and command. */
export const explain: Part = /* @__PURE__ */ part(explainKey, () => import('./sandbox/explain/explain.js'))

/** Fonts of PDF invoices for Latin, Greek, Cyrillic and Hebrew letters. Without them, invoices are in ASCII and Western letters. */
export const fonts: Part = /* @__PURE__ */ part(fontsKey, () => import('./market/billing/pdf/packaged-fonts.js'))

/** The MCP servers at `/mcp`, where agents buy. */
export const mcp: Part = /* @__PURE__ */ part(mcpKey, () => import('./agents/mcp/offer.js'))

/** Agents for tests: `sandbox.agent(options)`. They connect to an MCP server, so they need `mcp` too. */
export const scriptedAgents: Part = /* @__PURE__ */ part(
  scriptedAgentsKey,
  () => import('./sandbox/scripted-agent/agent.js'),
)

/** The MCP server for coding agents at `/_sandbox/mcp`, with the search of the documentation. */
export const tools: Part = /* @__PURE__ */ part(toolsKey, () => import('./sandbox/tools/tool-server.js'))

/** Every part. `createService` of `farthing` and `farthing/core` has them all. */
export const allParts: readonly Part[] = [csv, explain, fonts, mcp, scriptedAgents, tools]
