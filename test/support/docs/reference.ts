import { referencePages } from '../../../scripts/reference/pages.js'

let made: ReturnType<typeof referencePages> | undefined

/** The pages of `docs/reference/`, which files that share a process make once. */
export const reference = (): ReturnType<typeof referencePages> => (made ??= referencePages())
