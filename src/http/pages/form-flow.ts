import { Problem } from '../../base/problem.js'
import { type Reply, seeOther } from '../reply.js'
import { wantsPage } from './html.js'

/** Where the answer to a page on which people sign in leads, and the session that goes on. */
interface Taken {
  readonly step?: string
  readonly session?: string
}

/**
 * What follows an answer: the next page, at an address of its own so that it can be asked for again. What was refused undoes nothing:
 * `again` shows the page with it, at the step where that was filled in, and programs are told it as everywhere.
 */
export async function answered(
  taken: Taken | Problem,
  { body, headers }: { readonly body: { readonly answer: string }; readonly headers: Pick<Headers, 'get'> },
  { address, again }: { address: string; again(refused: Problem, step: 'email' | 'code' | undefined): Promise<Reply> },
): Promise<Reply | Problem> {
  if (taken instanceof Problem) {
    if (!wantsPage(headers)) return taken
    return again(taken, body.answer === 'verify' ? 'code' : body.answer === 'continue' ? 'email' : undefined)
  }
  const { step, session } = taken
  return seeOther(step === undefined ? address : `${address}?step=${step}`, { session })
}
