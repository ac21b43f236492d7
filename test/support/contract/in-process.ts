import { onTestFinished } from 'vitest'
import type { State } from '../../../src/index.js'
import { inProcess } from '../../runtimes/in-process.js'
import type { ContractOptions, Running } from '../../runtimes/runtime.js'
import { caller } from '../api.js'
import type { Start, Started } from './contract.js'

/** Starts a service in this process alone, for what is the same in every runtime. It is closed after the test. */
export const startHere: Start = Object.assign(
  async (options: ContractOptions = {}) => opened(await inProcess.start(options)),
  { over: async (state: State, options: ContractOptions) => opened(await inProcess.startOver(state, options)) },
)

function opened(running: Running): Started {
  onTestFinished(() => running.close())
  return { ...running, call: caller(running) }
}
