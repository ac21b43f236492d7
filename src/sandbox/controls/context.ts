import { required } from '../../base/required.js'
import type { SandboxContext, ServiceContext } from '../../http/context.js'

/** Returns the sandbox of a service. Throws an Error if it has none. */
export const sandboxOf = ({ sandbox }: Pick<ServiceContext, 'sandbox'>): SandboxContext =>
  required(sandbox, 'the sandbox of this service')
