import { isLoopbackHost } from '../../src/base/loopback.js'
import { suggestName } from '../../src/base/text/nearest-name.js'
import { judgeRun, type Verdict } from '../../src/sandbox/rehearse/judge.js'
import type { FaultPlan, PlannedFault, RehearsedFault } from '../../src/sandbox/rehearse/plan.js'
import type { RunRecord } from '../../src/sandbox/rehearse/record.js'
import { DEFAULT_SLOW_MS } from '../../src/sandbox/rehearse/rehearse.js'
import { diagramOf, showFinding } from '../../src/sandbox/rehearse/report.js'
import { hasCode } from '../../src/storage/unknown.js'
import type { Destination } from '../proxy/forwarding.js'
import { loadProfile, type ProxyProfile } from '../proxy/profile.js'
import { PaymentProxy, type ProxyOptions } from '../proxy/proxy.js'
import { Refusal } from '../refusal.js'
import { packageManagerEnded, stopSignal } from '../signals.js'
import { printLine } from '../terminal.js'

export interface ProxyFlags {
  readonly to?: string
  readonly profile?: string
  readonly port?: string
  readonly host?: string
  readonly slow?: string
  readonly fault?: readonly string[]
  readonly json?: boolean
  readonly keepMessages?: boolean
}

/** Serves before a service until a signal to stop, and then judges what went through. Throws `Refusal`. */
export async function proxyCommand(flags: ProxyFlags): Promise<void> {
  const stopped = Promise.race([stopSignal(), packageManagerEnded()])
  const { proxy, profile, to } = await openProxy(flags, {
    ...(!flags.json && { onCall: (call) => printLine(diagramOf(call)) }),
  })
  const plan = (flags.fault ?? []).map((fault) => plannedFault(fault, profile))
  proxy.begin(plan)
  if (flags.json) printLine(JSON.stringify({ url: proxy.url, to, pid: process.pid }))
  else printLine(`${proxy.url} before ${to}`)
  await stopped
  const run = await proxy.end({ ended: { isOk: true, result: undefined }, output: '' }, { withinMs: STOP_MS })
  await proxy.close()
  report(judgeRun(run, nothing), { plan, run, json: flags.json ?? false })
}

/** How long a stopped proxy waits for calls that are under way. */
const STOP_MS = 500

/** Nothing tells how often its callers want to pay: one payment for each intention is enough. */
const nothing: RunRecord = {
  ...{ calls: [], payments: [], deliveries: [], output: '', secrets: [] },
  ended: { isOk: true, result: undefined },
}

function report(
  verdicts: readonly Verdict[],
  { plan, run, json }: { readonly plan: FaultPlan; readonly run: RunRecord; readonly json: boolean },
): void {
  const shown = verdicts.map((verdict) => showFinding({ ...verdict, plan, run }, { randomSeed: 1 }))
  if (json)
    printLine(
      JSON.stringify({
        ok: verdicts.length === 0,
        calls: run.calls.length,
        findings: verdicts.map((verdict, at) => ({ ...verdict, sentence: shown[at]?.sentence })),
      }),
    )
  else {
    for (const { title, sentence } of shown) printLine(`${title}: ${sentence}`)
    if (shown.length === 0) printLine(`No fault of the client in ${run.calls.length} calls.`)
  }
  if (verdicts.length > 0) process.exitCode = 1
}

/** A proxy that listens. Throws `Refusal`. */
export async function openProxy(
  { to = '', profile: named, port, host, slow, keepMessages }: ProxyFlags,
  options: Pick<ProxyOptions, 'onCall'> = {},
) {
  const destination = destinationOf(to)
  if (named === undefined)
    throw new Refusal('--to needs --profile, which says how the service takes payments: stripe, x402 or a file')
  const profile = await loadProfile(named)
  const asked = readNumber('--port', port) ?? 0
  if (asked > 65_535) throw new Refusal('--port must be at most 65535')
  const proxy = new PaymentProxy({
    ...{ to: destination, profile, host, port: asked, keepMessages },
    ...{ slowMs: readNumber('--slow', slow) ?? DEFAULT_SLOW_MS, ...options },
  })
  try {
    await proxy.listen()
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE')) throw new Refusal(`port ${port} is in use: choose another one with --port`)
    throw new Refusal(`cannot listen on ${host ?? '127.0.0.1'}: ${String(error)}`, { cause: error })
  }
  if (isLoopbackHost(destination.hostname) && destination.port === new URL(proxy.url).port) {
    await proxy.close()
    throw new Refusal('--to is the address of the proxy itself')
  }
  return { proxy, profile, to: `${destination.protocol}//${destination.host}${destination.base}` }
}

export function readNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new Refusal(`${flag} must be a whole number`)
  return Number(text)
}

export function destinationOf(to: string): Destination {
  const url = URL.canParse(to) ? new URL(to) : undefined
  const { protocol, hostname, port, host, pathname, username, password, search, hash } = url ?? ({} as Partial<URL>)
  if (protocol !== 'http:' && protocol !== 'https:') throw new Refusal('--to must begin with http:// or https://')
  if (username || password || search || hash) throw new Refusal('--to must have no user, query or fragment')
  return {
    protocol,
    hostname: hostname ?? '',
    port: port ?? '',
    host: host ?? '',
    base: (pathname ?? '').replace(/\/$/, ''),
  }
}

/** What can happen before a service whose tokens and prices are its own. */
const possibleKinds: readonly RehearsedFault[] = [
  'lost_before',
  'lost_after',
  'error_before',
  'error_after',
  'slow',
  'twice',
]

/** `lost_after`, `lost_after@createCharge` or `lost_after@createCharge#2`. */
function plannedFault(text: string, { calls }: ProxyProfile): PlannedFault {
  const [, name = '', operation, nth = '1'] = /^(\w+)(?:@([^#]+))?(?:#([1-9]\d{0,5}))?$/.exec(text) ?? []
  const kind = possibleKinds.find((each) => each === name)
  if (!kind) throw new Refusal(`--fault must be one of ${possibleKinds.join(', ')}, with @call and #number if you like`)
  const known = Object.keys(calls)
  // A call that the profile does not name has its method and path as its name.
  if (operation !== undefined && !known.includes(operation) && !/^[A-Z]+ \//.test(operation))
    throw new Refusal(`--fault ${text}: the profile has no call "${operation}".${suggestName(operation, known)}`)
  const [first = ''] = Object.entries(calls).find(([, { request }]) => !request.startsWith('GET ')) ?? []
  return { kind, operation: operation ?? first, nth: Number(nth) }
}
