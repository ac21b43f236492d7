import { docsOf, isProblemCode, type ProblemCode } from '../../base/problem.js'
import { explainers } from './explainers.js'
import { describeEffects } from './facts/effects.js'
import type { Explanation, Finding } from './facts/explanation.js'
import { askedOf, first, type RefusedRequest, responseText, type Sources } from './facts/refused-request.js'
import { describeRetries } from './facts/retries.js'
import { ownerText, plural } from './facts/words.js'

/** Explains why the service answered as it did, from the state as it was at that moment. */
export async function explainAnswer(sources: Sources): Promise<Explanation> {
  const asked = askedOf(sources)
  const { entry } = asked
  const code = codeOf(asked)
  const found = code === undefined ? await explainSuccess(asked) : await explainers[code](asked)
  const about = await surroundings(asked)
  const sentences = [...about.sentences, ...found.sentences]
  return {
    entry,
    verdict: verdictOf(asked, code),
    sentences: sentences.length > 0 ? sentences : ['The journal and the state of that moment show no more about it.'],
    facts: { at: entry.at, ...(code !== undefined && { code }), ...about.facts, ...found.facts },
    fix: about.fix ?? found.fix ?? null,
    docs: code === undefined ? operationDocs(asked) : docsOf(code, asked.service),
  }
}

function codeOf({ entry }: RefusedRequest): ProblemCode | undefined {
  return entry.code !== undefined && isProblemCode(entry.code) ? entry.code : undefined
}

function verdictOf(asked: RefusedRequest, code: ProblemCode | undefined): string {
  const { status, operation_id, method, path } = asked.entry
  const call = operation_id ?? `${method} ${path.split('?')[0]}`
  if (code !== undefined)
    return `${call} was refused with ${status} ${code}: ${responseText(asked, 'error_description') ?? responseText(asked, 'error') ?? ''}`.trim()
  if (status === null) return `${call} has no answer.`
  return `${call} ${status < 400 ? 'succeeded' : 'failed'} with ${status}.`
}

/** What changed the answer besides the rules: a fault, an earlier entry, and what the journal does not show. */
async function surroundings(asked: RefusedRequest): Promise<Finding> {
  const { fault, caused_by, request, response } = asked.entry
  const path = `/_sandbox/faults/${fault}`
  return {
    sentences: [
      ...(fault === undefined
        ? []
        : [`The fault ${fault} of the sandbox changed this answer. Disarm it with DELETE ${path}.`]),
      ...(caused_by === undefined ? [] : [`The entry ${caused_by} caused this one.`]),
      ...(request.cut || response.cut
        ? ['The journal kept only the first 16 KiB of a body, so some fields are missing here.']
        : []),
    ],
    facts: { ...(fault !== undefined && { fault }), ...(caused_by !== undefined && { caused_by }) },
    fix: fault === undefined ? undefined : first(asked, 'disarmFault', { method: 'DELETE', path }),
  }
}

/** What a request did. */
async function explainSuccess(asked: RefusedRequest): Promise<Finding> {
  const { entry, tx } = asked
  const { storage, caused, principal } = entry
  const effects = await describeEffects(tx, caused)
  const retries = await describeRetries(asked)
  const isReplayed = entry.response.headers['idempotent-replayed'] === 'true'
  return {
    sentences: [
      principal === null ? 'Nobody was signed in for it.' : `${await ownerText(tx, principal)} made it.`,
      ...(isReplayed
        ? ['The answer is the stored one of an earlier request with the same Idempotency-Key. Nothing happened twice.']
        : []),
      ...retries.sentences,
      ...(effects.sentences.length > 0 ? effects.sentences : ['It caused nothing beyond its answer.']),
      `It ran ${plural(storage.transactions, 'transaction')}, with ${plural(storage.reads, 'read')} and ${plural(storage.writes, 'write')}.`,
    ],
    facts: { principal, replayed: isReplayed, ...retries.facts, caused: effects.facts, storage },
  }
}

/** The page of the interface's document. Unknown paths have none, so it is the list of the codes. */
const operationDocs = ({ operation, service }: RefusedRequest): string =>
  operation ? `${service.baseUrl}/v4/openapi.json` : docsOf(undefined, service)
