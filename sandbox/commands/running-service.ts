import { type Client, client, isRefusal } from '../../adapters/client.js'
import { Refusal } from '../refusal.js'
import { findAddress, findControlToken } from '../run-file.js'
import { demo } from '../seed/demo.js'

/** The flags that name a running service. Variables are those that `farthing exec` sets. */
export interface ServiceFlags {
  /** Default: `FARTHING_URL`, the sandbox that was started in this folder, or the usual address. */
  readonly url?: string | undefined
  /** Default: `FARTHING_CONTROL_TOKEN`, or that of the user's sandbox on this machine. */
  readonly controlToken?: string | undefined
}

/** What a command reaches the world with. */
export interface Outside {
  readonly fetch: typeof fetch
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Where a sandbox is looked for that no one names. */
  readonly directory?: string
  print(line: string): void
  /** Prints a document, whose line breaks are its own. */
  printText(text: string): void
}

export interface RunningService {
  /** Without a trailing slash. */
  readonly url: string
  readonly controlToken: string | undefined
  /** Calls as nobody. */
  readonly service: Client
}

/** Reads which service the user means. Throws `Refusal` if that is no URL. */
export function runningService(
  { url, controlToken }: ServiceFlags,
  { fetch, environment, directory }: Pick<Outside, 'fetch' | 'environment' | 'directory'>,
): RunningService {
  const beside = () => (directory === undefined ? undefined : findAddress(directory, environment))
  const at = url ?? (environment.FARTHING_URL || (beside() ?? 'http://127.0.0.1:4242'))
  if (!/^https?:\/\//.test(at) || !URL.canParse(at))
    throw new Refusal(`--url must begin with http:// or https://, unlike "${at}"`)
  const token = controlToken ?? (environment.FARTHING_CONTROL_TOKEN || findControlToken(at, environment))
  const service = client(at, { fetch, ...(token !== undefined && { controlToken: token }) })
  return { url: at.replace(/\/+$/, ''), controlToken: token, service }
}

/** Calls controls of a running sandbox. Throws `Refusal`, which says what to do. */
export async function callControls<T>({ url }: RunningService, call: () => PromiseLike<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw controlRefusal(url, error)
  }
}

function controlRefusal(url: string, cause: unknown): unknown {
  if (cause instanceof Refusal) return cause
  if (isRedirect(cause)) return new Refusal(cause.message, { cause })
  if (!isRefusal(cause)) return unreachable(url, cause)
  const why = () => {
    if (cause.code === 'sandbox_refused')
      return 'guards its controls: send the token that it printed at its start with --control-token'
    const isNone = cause.code === 'unknown' && cause.status === 404
    return isNone ? 'has no controls: it is no sandbox of farthing' : `refused ${cause.operation}: ${cause.message}`
  }
  return new Refusal(`${url} ${why()}`, { cause })
}

/** The client follows no redirect, and says where it leads. */
const isRedirect = (cause: unknown): cause is Error =>
  cause instanceof TypeError && / redirects to /.test(cause.message)

export const unreachable = (url: string, cause: unknown): Refusal =>
  new Refusal(
    cause instanceof SyntaxError
      ? `${url} does not answer like a sandbox of farthing: name yours with --url`
      : `no farthing answers at ${url}: start one, or name it with --url`,
    { cause },
  )

export interface AccountFlags extends ServiceFlags {
  /** Default: `FARTHING_CLIENT_ID`, or the account of the demo seed. */
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
}

export type Connected = RunningService & { readonly account: Client }

/** Finds a running service. Throws `Refusal` if none answers, or if it does not know the account. */
export async function connect(
  { clientId, clientSecret, ...flags }: AccountFlags,
  outside: Pick<Outside, 'fetch' | 'environment' | 'directory'>,
): Promise<Connected> {
  const running = runningService(flags, outside)
  const { environment } = outside
  const account = running.service.as({
    client_id: clientId ?? environment.FARTHING_CLIENT_ID ?? demo.account.client_id,
    client_secret: clientSecret ?? environment.FARTHING_CLIENT_SECRET ?? demo.account.client_secret,
  })
  try {
    await account.events.list({ limit: 1 })
  } catch (error) {
    if (!isRefusal(error)) throw unreachable(running.url, error)
    throw new Refusal(
      `${running.url} refuses the account: ${error.message} Name its credentials with --client-id and --client-secret`,
      { cause: error },
    )
  }
  return { ...running, account }
}
