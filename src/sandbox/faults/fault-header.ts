import { problem } from '../../base/problem.js'
import { describeFault } from '../../http/fields/field.js'
import type { Fault } from '../onion/fault.js'
import { FaultShape } from './fault-shape.js'

/** What the fault of a request's own header is called. */
export const HEADER_FAULT = 'header'

/**
 * Reads `X-Sandbox-Fault`: a point and an action, such as `after_commit; drop`, `before; status=503` or
 * `mid_body; truncate=10`. Throws `header_malformed`.
 */
export function readFaultHeader(text: string): Fault {
  const [, at = '', name = '', value] = /^\s*(\w+)\s*;\s*(\w+)\s*(?:=\s*(\d{1,9})\s*)?$/.exec(text) ?? []
  const fault = { match: {}, at, do: { [name]: value === undefined ? true : Number(value) } }
  const wrong = name === '' ? GRAMMAR : describeFault(FaultShape, fault)
  if (wrong !== undefined)
    throw problem('header_malformed', {
      detail: `The invalid header is X-Sandbox-Fault: ${wrong.replace(/\.$/, '')}.`,
      facts: { header: 'X-Sandbox-Fault' },
    })
  return FaultShape.parse(fault)
}

const GRAMMAR = 'it is a point and an action, such as "after_commit; drop" or "before; status=503"'
