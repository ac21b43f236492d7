import type { State } from '../../../src/index.js'
import type { ContractOptions, Running, Runtime } from '../../runtimes/runtime.js'
import type { Start, Started } from './contract.js'

/** What starts the services of a runtime for tests. `opened` gives each what its test uses, and sees that it is closed. */
export function startOf(
  { start, startOver }: Pick<Runtime, 'start' | 'startOver'>,
  opened: (running: Running, options: ContractOptions) => Started,
): Start {
  return Object.assign(
    async (options: ContractOptions = {}) => opened(await start(options), options),
    startOver && {
      over: async (state: State, options: ContractOptions) => opened(await startOver(state, options), options),
    },
  )
}
