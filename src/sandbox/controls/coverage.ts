import type { Evidence } from '../../base/evidence.js'
import type { KnownOperation, SandboxParts } from '../onion/context.js'

/** An operation, and how often it was called. */
export interface CoveredOperation {
  readonly operation_id: string
  readonly method: string
  /** Below the version, if it has versions. */
  readonly path: string
  /** The grade of its newest version. */
  readonly evidence: Evidence
  /** Calls of all its versions, refused ones too. */
  readonly calls: number
  /** Each of its versions, the newest first. Empty for a path without one. */
  readonly versions: readonly { readonly version: string; readonly evidence: Evidence; readonly calls: number }[]
}

export interface Coverage {
  /** How many operations were called. */
  readonly called: number
  /** All operations, in the order of the documentation. */
  readonly operations: readonly CoveredOperation[]
}

/** Returns every operation with its evidence grade, and how often it was called since this process started. */
export async function readCoverage({
  calls,
  loadOperations,
}: Pick<SandboxParts, 'calls' | 'loadOperations'>): Promise<Coverage> {
  const operations = (await loadOperations()).map((operation) => coverageOf(operation, calls))
  return { called: operations.filter((operation) => operation.calls > 0).length, operations }
}

function coverageOf({ id, method, path, versions }: KnownOperation, calls: SandboxParts['calls']): CoveredOperation {
  const counted = versions.map(({ version, evidence }) => {
    return { version, evidence, calls: calls.get(version === undefined ? id : `${id} ${version}`) ?? 0 }
  })
  return {
    ...{ operation_id: id, method, path },
    evidence: counted[0]?.evidence ?? 'designed',
    calls: counted.reduce((sum, each) => sum + each.calls, 0),
    versions: counted.flatMap(({ version, ...rest }) => (version === undefined ? [] : [{ version, ...rest }])),
  }
}
