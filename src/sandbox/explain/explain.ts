import { withoutUndefined } from '../../base/json.js'
import { docsOf, isProblemCode, type ProblemCode } from '../../base/problem.js'
import { textLines } from '../../base/problem-fields.js'
import type { ServiceContext } from '../../http/context.js'
import { StateForgotten } from '../../storage/history/history.js'
import type { Reader } from '../../storage/storage.js'
import { sandboxOf } from '../onion/context.js'
import type { Entry } from '../onion/entry.js'
import { callerExplainers } from './codes/callers.js'
import { consentExplainers } from './codes/consent.js'
import { marketExplainers } from './codes/market.js'
import { ownerExplainers } from './codes/owners.js'
import { paymentExplainers } from './codes/payments.js'
import { requestExplainers } from './codes/requests.js'
import { explainX402, x402Explainers } from './codes/x402.js'
import { takes } from './facts/credentials.js'
import { describeEffects, describeRetries } from './facts/effects.js'
import type { Explained, Explanation, FactsByName } from './facts/explanation.js'
import { filledTexts } from './facts/filled-text.js'
import { answered, type Explainers, RefusedRequest, type Sources, type WholeEntry } from './facts/refused-request.js'
import { ownerText, plural, timeText } from './facts/words.js'
import { sentences } from './sentences.js'

/** An entry of the journal. `after`: the last commit when it ended. Undefined while it runs. */
export interface ExplainedEntry extends WholeEntry {
  readonly after: number | undefined
}

interface Around {
  findEarlier(fits: (entry: Entry) => boolean): Entry | undefined
  readonly service: ServiceContext
}

/** Explains an entry from the state right after it, or from the present state if the history forgot that one. */
export async function explainEntry(entry: ExplainedEntry, around: Around): Promise<Explanation> {
  const service = { ...around.service, ...around.service.options }
  const { history, loadRoutes } = sandboxOf(around.service)
  const operations = await loadRoutes()
  const findEarlier = async (fits: (entry: Entry) => boolean) => around.findEarlier(fits)
  const from = (tx: Reader) => explainAnswer({ entry, tx, service, operations, findEarlier })
  try {
    if (history && entry.after !== undefined) return await history.readAt(entry.after, from)
  } catch (error) {
    if (!(error instanceof StateForgotten)) throw error
  }
  const { sentences, facts, ...rest } = await service.storage.read(from)
  const ofNow = 'The state of that moment is not kept any more, so these facts are of now.'
  return { ...rest, sentences: [...sentences, ofNow], facts: { ...facts, of: 'now' } }
}

const explainers: Explainers = {
  ...requestExplainers,
  ...callerExplainers,
  ...consentExplainers,
  ...ownerExplainers,
  ...paymentExplainers,
  ...marketExplainers,
  ...x402Explainers,
}

/** Explains why the service answered as it did, from the state as it was at that moment. */
export async function explainAnswer(sources: Sources): Promise<Explanation> {
  const { entry, tx, service, operations, findEarlier } = sources
  const asked = new RefusedRequest(entry, tx, service, operations, findEarlier)
  const code = entry.code !== undefined && isProblemCode(entry.code) ? entry.code : undefined
  const dialect = code === undefined ? await explainX402(asked) : undefined
  const found = dialect ?? (await (code === undefined ? explainSuccess(asked) : explainRefusal(asked, code)))
  const about = surroundings(asked)
  const said = [...about.sentences, ...found.sentences]
  return {
    entry,
    verdict: dialect ? `${entry.operation_id} refused the payment: ${dialect.reason}.` : verdictOf(asked, code),
    sentences: said.length > 0 ? said : ['The journal and the state of that moment show no more about it.'],
    facts: { at: entry.at, ...(code !== undefined && { code }), ...found.facts, ...about.facts },
    fix: about.fix ?? found.fix ?? null,
    // Unknown paths have no page of the interface's document, so it is the list of the codes.
    docs: code === undefined && asked.operation ? `${service.baseUrl}/v4/openapi.json` : docsOf(code, service),
  }
}

async function explainRefusal(asked: RefusedRequest, code: ProblemCode): Promise<Explained> {
  const { detail, ...thrown } = asked.facts
  const finding = (await explainers[code]?.(asked)) ?? {}
  const { fix, ...found } = finding
  const { principal, request, response } = asked.entry
  const wait = response.headers['retry-after']
  const facts = {
    ...{ caller: principal, principal },
    sent: ['authorization', 'x-session-id', 'cookie', 'x-device-token'].filter((name) => name in request.headers),
    accepted: asked.operation?.auth ?? [],
    ...(wait !== undefined && { retry_after: Number(wait) }),
    ...thrown,
    ...Object.fromEntries(Object.entries(found).map(([name, fact]) => [name, shownFact(name, fact)])),
  }
  const said = await filledTexts(textLines(sentences[code]), { ...contextOf(asked), detail, ...facts }, asked.tx)
  // Where the explainer names no call, waiting is what helps.
  const isWait = !('fix' in finding) && typeof facts.retry_after === 'number'
  return { sentences: said, facts, fix: isWait ? asked.later(Number(facts.retry_after)) : fix || undefined }
}

const shownFact = (name: string, fact: unknown): unknown =>
  typeof fact === 'number' && /(_at|until|_from)$/.test(name) ? timeText(fact) : (fact ?? null)

function contextOf(asked: RefusedRequest): FactsByName {
  const { entry, service } = asked
  const { headers } = entry.request
  return {
    ...{ method: entry.method, path: entry.path.split('?')[0], at: entry.at, base_url: service.baseUrl },
    ...{ operation: entry.operation_id ?? 'The operation', operation_id: entry.operation_id, fault: entry.fault },
    ...{ key: headers['idempotency-key'], session: 'x-session-id' in headers || 'cookie' in headers },
    ...{ takes: takes(asked), who: whoCalled(asked) },
  }
}

function whoCalled(asked: RefusedRequest): string {
  const agent = asked.callerId('agent')
  if (agent !== undefined) return `The app of connection ${agent}`
  if (asked.entry.principal !== null) return asked.entry.principal
  const { token_of } = asked.facts
  if (token_of === 'user') return 'A user'
  return token_of === 'account' ? 'An account' : 'Someone whom the journal does not name'
}

function verdictOf({ entry }: RefusedRequest, code: ProblemCode | undefined): string {
  const { status, operation_id, method, path } = entry
  const call = operation_id ?? `${method} ${path.split('?')[0]}`
  const { error, error_description = error } = answered(entry)
  const said = typeof error_description === 'string' ? error_description : ''
  if (code !== undefined) return `${call} was refused with ${status} ${code}: ${said}`.trim()
  return status === null ? `${call} has no answer.` : `${call} ${status < 400 ? 'succeeded' : 'failed'} with ${status}.`
}

/** What changed the answer besides the rules: a fault, an earlier entry, and what the journal does not show. */
function surroundings(asked: RefusedRequest): Explained {
  const { fault, caused_by, request, response } = asked.entry
  const disarm = `DELETE /_sandbox/faults/${fault}`
  const sentences = [
    fault !== undefined && `The fault ${fault} of the sandbox changed this answer. Disarm it with ${disarm}.`,
    caused_by !== undefined && `The entry ${caused_by} caused this one.`,
    (request.cut || response.cut) &&
      'The journal kept only the first 16 KiB of a body, so some fields are missing here.',
  ]
  return {
    sentences: sentences.filter((sentence) => typeof sentence === 'string'),
    facts: withoutUndefined({ fault, caused_by }),
    fix: fault === undefined ? undefined : asked.first(disarm),
  }
}

async function explainSuccess(asked: RefusedRequest): Promise<Explained> {
  const { entry, tx } = asked
  const { storage, caused, principal } = entry
  const [effects, retries] = [await describeEffects(tx, caused), await describeRetries(asked)]
  const replayed = entry.response.headers['idempotent-replayed'] === 'true'
  return {
    sentences: [
      principal === null ? 'Nobody was signed in for it.' : `${await ownerText(tx, principal)} made it.`,
      ...(replayed
        ? ['The answer is the stored one of an earlier request with the same Idempotency-Key. Nothing happened twice.']
        : []),
      ...retries.sentences,
      ...(effects.sentences.length > 0 ? effects.sentences : ['It caused nothing beyond its answer.']),
      `It ran ${plural(storage.transactions, 'transaction')}, with ${plural(storage.reads, 'read')} and ${plural(storage.writes, 'write')}.`,
    ],
    facts: { principal, replayed, ...retries.facts, caused: effects.facts, storage },
  }
}
