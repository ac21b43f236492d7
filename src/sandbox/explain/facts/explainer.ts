import type { ProblemCode } from '../../../base/problem.js'
import type { Finding } from './explanation.js'
import type { RefusedRequest } from './refused-request.js'

/** Finds out what the facts of a refusal do not say. It reads the state of that moment, and changes nothing. */
export type Explainer = (asked: RefusedRequest) => Finding | Promise<Finding>

/** The explainers of one area, by the codes they explain. Codes without one are explained by their facts. */
export type Explainers = Readonly<Partial<Record<ProblemCode, Explainer>>>
