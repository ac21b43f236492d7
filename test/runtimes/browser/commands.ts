import type { State } from '../../../src/index.js'
import type { ContractOptions } from '../runtime.js'
import type { CarriedAnswer, CarriedRequest } from './carried.js'

/** What a test asks of a page that runs services, under the global `commands`. */
export interface Commands {
  /** Starts a service; gives its URL. */
  start(id: number, options: ContractOptions): Promise<string>
  fetch(request: CarriedRequest): Promise<CarriedAnswer>
  nextPiece(stream: number): Promise<string | null>
  cancelStream(stream: number): Promise<void>
  state(id: number): Promise<State>
  stop(id: number): Promise<void>
}
