/** The service without a built-in storage, for bundles that bring their own. */

export type { Evidence } from './base/evidence.js'
export type { Part } from './base/parts.js'
export {
  type Alarm,
  type CardCharge,
  type CardRefund,
  type Cards,
  type CardToSave,
  type ChargedCard,
  type ChargeResult,
  type Clock,
  consoleLog,
  type Fonts,
  type Log,
  type Mail,
  type Mailer,
  type Push,
  type PushMessage,
  type Random,
  type RefundResult,
  type SaveResult,
  type TestPaymentMethod,
  type Upstream,
  type UpstreamRequest,
} from './base/ports.js'
export { Problem, type ProblemCode, problemCodes } from './base/problem.js'
export type { NewSpan, SpanAttributes, TraceParent, Tracer, TraceSpan } from './base/tracer.js'
export { VERSION } from './base/version.js'
export { collections } from './collections.js'
export type { AssemblyOptions as ServiceOptions } from './composition/assembly-options.js'
export type { Service } from './composition/service.js'
export { createServiceOver as createService } from './create-service.js'
export { AnswerDropped } from './http/around.js'
export type { WaitingRequests } from './http/fields/intake.js'
export type { FetchSource } from './http/incoming.js'
export type { Limits } from './http/limits.js'
export { SCHEMA, schemaHistory } from './migrations/schema.js'
export type { TestValues } from './money/cards/test-values.js'
export type { Audit } from './money/ledger/audit.js'
export { checkOptions } from './options.js'
export type { Coverage, CoveredOperation } from './sandbox/controls/coverage.js'
export type { ClockChange, CommodityChange, DueWork, Phone, Sandbox, ShownClock } from './sandbox/controls/sandbox.js'
export type { AccountCredentials, Credentials, UserCredentials } from './sandbox/controls/seed/credentials.js'
export type { Seeded } from './sandbox/controls/seed/seed.js'
export type { Seed } from './sandbox/controls/seed/seed-schema.js'
export type { FaultControls } from './sandbox/faults/faults.js'
export type { ArmedFault, Fault } from './sandbox/onion/fault.js'
export type {
  AgentOptions,
  McpClient,
  McpContent,
  McpNamed,
  McpResult,
  McpTool,
  Order,
  ScriptedAgent,
  ToolAnswer,
} from './sandbox/scripted-agent/agent.js'
export type { AgentControls, HostileItem } from './sandbox/scripted-agent/controls.js'
export type { State, Storage } from './storage/storage.js'
