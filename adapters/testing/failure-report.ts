import type { Service } from 'farthing'

type Requests = Service['sandbox']['requests']
type Entry = Awaited<ReturnType<Requests['read']>>
type Explanation = Awaited<ReturnType<Requests['explain']>>
type ExampleCall = NonNullable<Explanation['fix']>['example']

/** What the service of a failed test did. */
export interface FailureReport {
  /** The last entries of the journal, the newest last. */
  readonly entries: string
  /** Why the service refused the last request that it refused, and the call that fixes it. */
  readonly explanation: string | undefined
  /** Both, with what they are. */
  readonly text: string
  /** Both as JSON, with whole entries. */
  readonly json: string
}

/** How many entries a person reads, and how many the JSON holds. */
const MOST_LINES = 10
const MOST_ENTRIES = 200

export async function reportFailure({ sandbox }: Pick<Service, 'sandbox'>): Promise<FailureReport | undefined> {
  const { requests, dropped } = await sandbox.requests.list({ limit: MOST_ENTRIES })
  if (requests.length === 0) return undefined
  const refused = requests.find(isRefused)
  // The failure of the test says more than that its service is closed already.
  const explained = refused && (await sandbox.requests.explain(refused.id).catch(() => undefined))
  const entries = requests.slice(0, MOST_LINES).reverse().map(lineOf).join('\n')
  const explanation = explained && explanationLines(explained).join('\n')
  return {
    entries,
    explanation,
    text: `The last requests to the service of this test:\n${indented(entries)}${explanation === undefined ? '' : `\n${explanation}`}`,
    json: JSON.stringify({ requests: requests.toReversed(), dropped, explanation: explained ?? null }, null, 2),
  }
}

const isWork = ({ origin }: Entry): boolean => origin === 'timer' || origin === 'delivery'

/** Whether a request failed, or ended without an answer. */
const isRefused = (entry: Entry): boolean =>
  !isWork(entry) && (entry.status === null ? entry.ms !== null : entry.status >= 400)

/** `12:00:01.250 POST /v4/payment/… 402 insufficient_funds, by user:2`, or `12:00:02.000 timer sweep`. */
function lineOf(entry: Entry): string {
  const { at, origin, method, path, operation_id, status, code, principal } = entry
  const call = isWork(entry) ? [origin, operation_id] : [method, path, status ?? 'no answer']
  const outcome = [at.slice(11, 23), ...call, code].filter((part) => part !== undefined).join(' ')
  return oneLine(`${outcome}${principal === null ? '' : `, by ${principal}`}`)
}

function explanationLines({ verdict, sentences, fix, docs }: Explanation): string[] {
  return [
    verdict,
    ...sentences,
    ...(fix ? [`To fix it, ${stepOf(fix.example)}`] : []),
    ...(fix?.next ? [`Then ${stepOf(fix.next)}`] : []),
    `See ${readableOf(docs)}`,
  ].map(oneLine)
}

/** Nothing listens at the address of a test's service, and it is closed by now. The command line has the same pages. */
function readableOf(docs: string): string {
  const [, code] = /\/docs\/errors\/(\w+)$/.exec(docs) ?? []
  return code === undefined ? 'npx farthing openapi' : `npx farthing explain ${code}`
}

/** The controls that explanations name, as a test calls them. */
const methods: Readonly<Record<string, string>> = {
  '/_sandbox/fund': 'fund',
  '/_sandbox/sign-in': 'signIn',
  '/_sandbox/clock': 'setClock',
  '/_sandbox/reset': 'reset',
}

function stepOf(call: ExampleCall): string {
  const method = methods[call.path]
  if (call.method !== 'POST' || method === undefined) return `send ${callOf(call)}`
  return `call sandbox.${method}(${call.body === undefined ? '' : JSON.stringify(call.body)})`
}

function callOf({ method, path, as, headers, body }: ExampleCall): string {
  const sent = body === undefined ? '' : ` with ${typeof body === 'string' ? body : JSON.stringify(body)}`
  const named = headers === undefined ? '' : ` and the headers ${JSON.stringify(headers)}`
  return `${method} ${path}${as === undefined ? '' : ` as ${as}`}${sent}${named}`
}

const indented = (lines: string): string => lines.replace(/^/gm, '  ')

/** On one line, and without what a terminal would obey. */
const oneLine = (text: string): string => text.replace(/\p{C}+/gu, ' ')
