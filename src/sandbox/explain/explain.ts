import { docsOf, isProblemCode, type ProblemCode } from '../../base/problem.js'
import { explainers } from './explainers.js'
import { takes } from './facts/credentials.js'
import { describeEffects } from './facts/effects.js'
import type { Explained, Explanation, FactsByName } from './facts/explanation.js'
import { filledTexts } from './facts/filled-text.js'
import { RefusedRequest, refusalText, type Sources } from './facts/refused-request.js'
import { describeRetries } from './facts/retries.js'
import { ownerText, plural } from './facts/words.js'
import { callerSentences } from './sentences/callers.js'
import { saleSentences } from './sentences/sales.js'
import { serviceSentences } from './sentences/services.js'

/** Explains why the service answered as it did, from the state as it was at that moment. */
export async function explainAnswer(sources: Sources): Promise<Explanation> {
  const asked = new RefusedRequest(sources)
  const { entry } = asked
  const code = codeOf(asked)
  const found = code === undefined ? await explainSuccess(asked) : await explainRefusal(asked, code)
  const about = surroundings(asked)
  const sentences = [...about.sentences, ...found.sentences]
  return {
    entry,
    verdict: verdictOf(asked, code),
    sentences: sentences.length > 0 ? sentences : ['The journal and the state of that moment show no more about it.'],
    facts: { at: entry.at, ...(code !== undefined && { code }), ...found.facts, ...about.facts },
    fix: about.fix ?? found.fix ?? null,
    docs: code === undefined ? operationDocs(asked) : docsOf(code, asked.service),
  }
}

/** The sentences of every code. A code without one does not compile. */
const sentencesOf: Readonly<Record<ProblemCode, string | readonly string[]>> = {
  ...serviceSentences,
  ...callerSentences,
  ...saleSentences,
}

/** The facts of a refusal, in the sentences of its code. */
async function explainRefusal(asked: RefusedRequest, code: ProblemCode): Promise<Explained> {
  const { detail, ...thrown } = asked.facts
  const finding = (await explainers[code]?.(asked)) ?? {}
  const { fix, ...found } = finding
  const { headers } = asked.entry.request
  const wait = asked.entry.response.headers['retry-after']
  const facts = {
    caller: asked.entry.principal,
    principal: asked.entry.principal,
    sent: ['authorization', 'x-session-id', 'cookie', 'x-device-token'].filter((name) => name in headers),
    accepted: asked.operation?.auth ?? [],
    ...(wait !== undefined && { retry_after: Number(wait) }),
    ...thrown,
    ...Object.fromEntries(Object.entries(found).map(([name, fact]) => [name, fact ?? null])),
  }
  const sentences = await filledTexts([sentencesOf[code]].flat(), { ...contextOf(asked), detail, ...facts }, asked.tx)
  // Where the explainer names no call, waiting is what helps.
  const isWait = !('fix' in finding) && typeof facts.retry_after === 'number'
  return { sentences, facts, fix: isWait ? asked.later(Number(facts.retry_after)) : fix }
}

/** What the sentences name beside the facts. */
function contextOf(asked: RefusedRequest): FactsByName {
  const { entry, service } = asked
  const { headers } = entry.request
  return {
    method: entry.method,
    path: entry.path.split('?')[0],
    operation: entry.operation_id ?? 'The operation',
    operation_id: entry.operation_id,
    at: entry.at,
    base_url: service.baseUrl,
    fault: entry.fault,
    key: headers['idempotency-key'],
    session: 'x-session-id' in headers || 'cookie' in headers,
    takes: takes(asked),
    who: whoCalled(asked),
  }
}

function whoCalled(asked: RefusedRequest): string {
  const agent = asked.callerId('agent')
  if (agent !== undefined) return `The app of connection ${agent}`
  const { token_of } = asked.facts
  if (asked.entry.principal !== null) return asked.entry.principal
  return token_of === 'user'
    ? 'A user'
    : token_of === 'account'
      ? 'An account'
      : 'Someone whom the journal does not name'
}

function codeOf({ entry }: RefusedRequest): ProblemCode | undefined {
  return entry.code !== undefined && isProblemCode(entry.code) ? entry.code : undefined
}

function verdictOf(asked: RefusedRequest, code: ProblemCode | undefined): string {
  const { status, operation_id, method, path } = asked.entry
  const call = operation_id ?? `${method} ${path.split('?')[0]}`
  if (code !== undefined) return `${call} was refused with ${status} ${code}: ${refusalText(asked.entry)}`.trim()
  if (status === null) return `${call} has no answer.`
  return `${call} ${status < 400 ? 'succeeded' : 'failed'} with ${status}.`
}

/** What changed the answer besides the rules: a fault, an earlier entry, and what the journal does not show. */
function surroundings(asked: RefusedRequest): Explained {
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
    fix: fault === undefined ? undefined : asked.first('disarmFault', { method: 'DELETE', path }),
  }
}

/** What a request did. */
async function explainSuccess(asked: RefusedRequest): Promise<Explained> {
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
