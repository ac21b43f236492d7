import { required } from '../../base/required.js'
import type { SandboxContext, ServiceContext } from '../../http/context.js'

/** What only a sandbox has. Throws an Error for a service that is none. */
export const sandboxOf = ({ sandbox }: Pick<ServiceContext, 'sandbox'>): SandboxContext =>
  required(sandbox, 'the sandbox of this service')
