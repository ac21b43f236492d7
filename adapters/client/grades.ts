import type { ClientOperation } from '../../src/composition/client-operation.js'
import type { Grade } from './interface.js'

const order = ['documented', 'observed', 'named', 'designed'] as const satisfies readonly Grade[]

export const isGrade = (grade: unknown): grade is Grade => (order as readonly unknown[]).includes(grade)

export const isWeaker = (grade: Grade, least: Grade): boolean => order.indexOf(grade) > order.indexOf(least)

/** An operation under one version. */
export interface Endpoint extends Omit<ClientOperation, 'method'> {
  readonly method: string
  readonly grade: Grade
}

/** An operation under each of its versions. The id and the path have the version. */
export function endpointsOf(operation: ClientOperation): Endpoint[] {
  const { id, path, method = 'GET', versions = ['v4'], evidence = 'designed' } = operation
  return (versions.length > 0 ? versions : [undefined]).map((version, at) => ({
    ...operation,
    method,
    id: at === 0 ? id : `${id}_${version}`,
    path: version ? `/${version}${path}` : path,
    grade: typeof evidence === 'string' ? evidence : (evidence[version ?? ''] ?? 'designed'),
  }))
}
