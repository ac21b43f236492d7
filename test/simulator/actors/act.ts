import type { Call } from '../../support/api.js'
import type { Draws } from '../machine/draws.js'
import type { Person, World } from '../world.js'

/** Something that people, sellers or agents do, in one or several calls. */
export interface Act {
  /** How often it is drawn, beside the others. Default: 1. */
  readonly weight?: number
  run(world: World, draws: Draws): Promise<void>
}

/** Calls as someone, for steps that tests share. A token of the cast is renewed when it has expired. */
export const callAs =
  (world: World, by?: Person): Call =>
  (method, path, { token, ...options } = {}) => {
    const person = token === undefined ? (options.session === undefined ? by : undefined) : world.personOf(token)
    if (person) return world.call(method, path, { ...options, by: person })
    return world.call(method, path, { ...options, ...(token !== undefined && { token }) })
  }

/** Runs steps whose people give up when an answer is not what they hoped for. */
export async function tolerantly(world: World, who: string, steps: () => Promise<void>): Promise<void> {
  try {
    await steps()
  } catch (error) {
    if ((error as Error).name === 'PropertyBroken') throw error
    world.sightings.see(`${who} gives up`)
  }
}
