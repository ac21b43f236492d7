/** The service without a storage of its own: for bundles that bring another, and no byte more. */

export type { TestValues } from './cards/test-values.js'
export { collections } from './collections.js'
export type { Limits } from './context.js'
export type { AccountCredentials, Credentials, UserCredentials } from './controls/credentials.js'
export type { ClockChange, Phone, Sandbox, ShownClock } from './controls/sandbox.js'
export type { Seeded } from './controls/seed.js'
export type { Seed } from './controls/seed-schema.js'
export type { Evidence } from './evidence.js'
export type { FetchSource } from './http/incoming.js'
export type { Audit } from './ledger/audit.js'
export type { HostileItem } from './mcp/hostile.js'
export type { AgentOptions, Order, ScriptedAgent, ToolAnswer } from './mcp/scripted/agent.js'
export type { AgentControls } from './mcp/scripted/controls.js'
export type {
  Alarm,
  CardCharge,
  CardRefund,
  Cards,
  CardToSave,
  ChargedCard,
  ChargeResult,
  Clock,
  Fonts,
  Log,
  Mail,
  Mailer,
  Push,
  PushMessage,
  Random,
  RefundResult,
  SaveResult,
  TestPaymentMethod,
  Upstream,
  UpstreamRequest,
} from './ports.js'
export { Problem, type ProblemCode, problemCodes } from './problem.js'
export { createService, type Service, type ServiceOptions } from './service.js'
export type { State, Storage } from './storage/storage.js'
export { VERSION } from './version.js'
