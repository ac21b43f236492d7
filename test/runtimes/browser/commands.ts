import type { State } from '../../../src/index.js'
import type { ContractOptions } from '../runtime.js'
import type { CarriedAnswer, CarriedRequest } from './carried.js'

/** What a test asks of a page that runs services. All that is given and answered can be written as JSON. */
export interface Commands {
  /** Starts a service; gives its URL. */
  start(id: number, options: ContractOptions): Promise<string>
  fetch(request: CarriedRequest): Promise<CarriedAnswer>
  nextPiece(stream: number): Promise<string | null>
  cancelStream(stream: number): Promise<void>
  state(id: number): Promise<State>
  stop(id: number): Promise<void>
}

/** A command on its way to a page. */
export interface Asked {
  readonly number: number
  readonly command: keyof Commands
  readonly args: readonly never[]
}

/** What became of it: a value, or what was thrown. */
export interface Done {
  readonly number: number
  readonly value?: unknown
  readonly error?: string
}
