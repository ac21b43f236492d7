import type { ServiceOptions } from '../../src/index.js'
import type { State } from '../../src/storage/storage.js'

/** What a contract test may ask of a service: settings that travel to any runtime. The sandbox is always on. */
export type ContractOptions = Pick<
  ServiceOptions,
  'evidence' | 'balances' | 'accountCreation' | 'journal' | 'limits' | 'seed' | 'twinDomain'
>

/** A service running somewhere, seen through HTTP and by what it leaves at rest. */
export interface Running {
  /** Without a trailing slash. */
  readonly url: string
  fetch(request: Request): Promise<Response>
  /** Everything that its storage holds. */
  state(): Promise<State>
  close(): Promise<void>
}

export interface Runtime {
  readonly name: string
  /** Which cases of the contract it is held to, outside of `npm run test:all`: all of them, those with a tag, or none. */
  readonly holds: 'whole' | 'everywhere' | 'pages' | 'worker' | 'nothing'
  start(options: ContractOptions): Promise<Running>
  /** Starts a service whose storage holds a state already, where that saves calls. */
  readonly startOver?: (state: State, options: ContractOptions) => Promise<Running>
}
