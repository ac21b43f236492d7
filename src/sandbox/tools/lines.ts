import type { ExampleCall, Explanation } from '../explain/facts/explanation.js'
import type { Entry } from '../onion/entry.js'
import type { Replay } from '../replay/replay.js'
import { cutText, lineOfEntry } from './brief.js'

/** Answers of the journal as lines of text, for agents and for people. */

/** An entry, with what was sent and answered. */
export const linesOfEntry = (entry: Entry): string[] => [
  lineOfEntry(entry),
  ...linesOfBodies(entry),
  ...(entry.caused.length === 0 ? [] : [`Caused: ${entry.caused.map(({ kind, id }) => `${kind} ${id}`).join(', ')}`]),
]

/** What was sent and answered. The texts are of others, so they are named as data. */
export const linesOfBodies = ({ request, response }: Entry): string[] => [
  ...(request.body === null ? [] : [`Sent, as data: ${cutText(request.body, 500)}`]),
  ...(response.body === null ? [] : [`Answered, as data: ${cutText(response.body, 500)}`]),
]

/** An explanation without its verdict. */
export const linesOfExplanation = ({
  sentences,
  fix,
  docs,
}: Pick<Explanation, 'sentences' | 'fix' | 'docs'>): string[] => [
  ...sentences,
  ...(fix === null ? [] : [`To fix it, send ${lineOfCall(fix.example)}`]),
  ...(fix?.between ? [`Then send ${lineOfCall(fix.between)}`] : []),
  ...(fix?.next ? [`Then send ${lineOfCall(fix.next)}`] : []),
  `See ${docs}`,
]

/** `POST /v4/payment/… as user:2 with {"cost":0.5}`. */
function lineOfCall({ method, path, as, headers, body }: ExampleCall): string {
  const given = body === undefined ? '' : ` with ${typeof body === 'string' ? body : JSON.stringify(body)}`
  const sent = headers === undefined ? '' : ` and the headers ${JSON.stringify(headers)}`
  return cutText(`${method} ${path}${as === undefined ? '' : ` as ${as}`}${given}${sent}`, 1000)
}

/** What came of a repetition. */
export function linesOfReplay({ entry, state, diff, effects }: Replay): string[] {
  const answered = entry.status === null ? 'no answer' : [entry.status, entry.code].filter(Boolean).join(' ')
  return [
    `The repetition got ${answered}, on the state ${state === 'before' ? 'before the call' : 'of now'}.`,
    ...(diff === undefined
      ? []
      : diff.length === 0
        ? ['The answers are the same.']
        : diff.slice(0, MOST_DIFFERENCES).map(lineOfDifference)),
    ...effects.counts
      .filter(({ was, is }) => was !== is)
      .map(({ kind, was, is }) => `${kind}: caused ${was} before, ${is} now`),
    ...(effects.same ? ['Both caused the same.'] : []),
  ]
}

/** Differences in the text of an answer. */
const MOST_DIFFERENCES = 10

const lineOfDifference = ({ path, was, is }: { path: string; was: unknown; is: unknown }): string =>
  cutText(`${path}: was ${JSON.stringify(was)}, is ${JSON.stringify(is)}`, 300)
