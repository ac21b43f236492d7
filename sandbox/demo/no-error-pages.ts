import { docsOf, type ProblemCode, problemCodes, problemSentence, problemStatus } from '../../src/base/problem.js'
import type * as pages from '../../src/http/error-pages/answers.js'
import { reply } from '../../src/http/reply.js'

/** Replaces the pages that explain errors, which would make the worker larger. Everybody gets the sentence, as JSON. */

const listed = (code: ProblemCode, service: { readonly baseUrl: string }) => ({
  ...{ code, status: problemStatus(code), error: problemSentence(code), docs: docsOf(code, service) },
})

export const answerList: typeof pages.answerList = (_, service) =>
  reply({ value: { errors: problemCodes.map((code) => listed(code, service)) } })

export const answerCode: typeof pages.answerCode = (code, _, service) =>
  reply({
    value: {
      ...listed(code, service),
      ...{ meaning: problemSentence(code), causes: [], fixes: [], fields: [], operations: [] },
    },
  })

export const answerUnknown: typeof pages.answerUnknown = (refused) => {
  throw refused
}
