import type { ProblemCode } from '../../../base/problem.js'
import type { Finding } from './explanation.js'
import type { RefusedRequest } from './refused-request.js'

/** Finds out why a request was refused with a certain code. It reads, and changes nothing. */
export type Explainer = (asked: RefusedRequest) => Promise<Finding>

/** The explainers of one area, by the codes they explain. */
export type Explainers = Readonly<Partial<Record<ProblemCode, Explainer>>>
