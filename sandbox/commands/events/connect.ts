import { type Client, isRefusal } from '../../../adapters/client.js'
import { Refusal } from '../../refusal.js'
import { demo } from '../../seed/demo.js'
import {
  type Outside,
  type RunningService,
  runningService,
  type ServiceFlags,
  unreachable,
} from '../running-service.js'

/** The flags that name a running service and an account of it. Variables are those that `farthing exec` sets. */
export interface AccountFlags extends ServiceFlags {
  /** Default: `FARTHING_CLIENT_ID`, or the account of the demo seed. */
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
}

/** A running service, and its account. */
export interface Connected extends RunningService {
  readonly account: Client
}

/** Finds a running service. Throws `Refusal` if none answers, or if it does not know the account. */
export async function connect(
  { clientId, clientSecret, ...flags }: AccountFlags,
  outside: Pick<Outside, 'fetch' | 'environment'>,
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
