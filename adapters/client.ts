import { type Connection, perform } from './client/call.js'
import { anonymous, type ClientIdentity, type Exchange, type Signer, signerOf } from './client/credentials.js'
import { groupsOf } from './client/groups.js'
import type { Grade } from './client/interface.js'
import { clientOperations, type Groups } from './client/operations.js'
import { endpointsOf, type Fetch, type InProcess, isGrade, targetOf } from './client/request.js'

export type { ClientCredentials, ClientIdentity, SessionCredentials, TokenCredentials } from './client/credentials.js'
export type { CallOptions, Grade, List, ListOperation, Operation, Outcome } from './client/interface.js'
export type { Code } from './client/operations.js'
export { isRefusal, Refusal, type RefusalOf } from './client/refusal.js'
export type { Fetch, InProcess } from './client/request.js'
export type * from './client/shapes.js'

export interface ClientOptions<G extends Grade = Grade> {
  /** Sends the requests. Default: the service's own in process, and the global `fetch` over HTTP. */
  readonly fetch?: Fetch
  /**
   * The weakest grade of what the client calls and sends. With `observed`, it has only the operations that the live service
   * is known to have, and sends no field or header that farthing designed. Default: `designed`, which is everything.
   */
  readonly evidence?: G
  /** How many times to repeat an attempt that could not be answered. Default: 2. */
  readonly retries?: number
  /** The token with which the controls of a remote sandbox can be used. */
  readonly controlToken?: string
}

/** A client of a service: its operations in groups, such as `payments.create`. */
export type Client<G extends Grade = 'designed'> = Groups<G> & {
  /** A client of the same service that calls as someone. It gets and refreshes the tokens that it needs. */
  as(identity: ClientIdentity): Client<G>
}

/**
 * Creates a client of a service in process, or of one at a URL. It calls without credentials until `as()`. A refusal is thrown as a
 * `Refusal`. Throws a TypeError for a wrong target or option.
 */
export function client<const G extends Grade = 'designed'>(
  target: InProcess | string | URL,
  options: ClientOptions<G> = {},
): Client<G> {
  const { fetch, evidence = 'designed', retries = 2, controlToken } = options
  if (!isGrade(evidence)) throw new TypeError('evidence must be "documented", "observed", "named" or "designed".')
  const learned = { takesKeys: true }
  const connection: Connection = { target: targetOf(target, fetch), evidence, retries, controlToken, learned }
  return clientAs(connection, anonymous, new Map()) as Client<G> // Made from the same table as its type.
}

function clientAs(connection: Connection, signer: Signer, signers: Map<string, Signer>): object {
  return {
    ...groupsOf(connection, signer),
    as: (identity: ClientIdentity) => {
      const known = typeof identity === 'object' ? JSON.stringify(identity) : undefined
      const next = (known !== undefined && signers.get(known)) || signerOf(identity, exchangeWith(connection))
      if (known !== undefined) signers.set(known, next)
      return clientAs(connection, next, signers)
    },
  }
}

/** Both token paths reach the same handler: the credentials decide whose token it is. */
function exchangeWith(connection: Connection): Exchange {
  const [endpoint] = clientOperations.filter(({ id }) => id === 'createAccountToken').flatMap(endpointsOf)
  if (!endpoint) throw new TypeError('The route table has no createAccountToken.')
  return async (authorization) => {
    const fields = authorization.startsWith('Basic') ? { grant_type: 'client_credentials' } : {}
    const sent = { parameters: [], fields, options: {} }
    return (await perform(connection, { ...anonymous, basic: authorization }, endpoint, sent)) as Awaited<
      ReturnType<Exchange>
    > // By the route table.
  }
}
