import { acts } from './actors/acts.js'
import { Draws } from './machine/draws.js'
import type { PortFault, PortName } from './machine/outside.js'
import { type Moment, moments } from './machine/traps.js'

/** Something that happens in a run. Each has its own numbers, so that the others stay as they are without it. */
export type Step = {
  /** Its place in the plan of the seed. */
  readonly number: number
  /** How many milliseconds after the step before. */
  readonly gap: number
} & (
  | { readonly do: 'act'; readonly act: string }
  | { readonly do: 'trap'; readonly moment: Moment; readonly passes: number }
  | { readonly do: 'kill' | 'lose power' | 'restart' | 'hang' | 'audit' }
  | { readonly do: 'fail commit'; readonly how: 'aborted' | 'lost answer' | 'rerun' }
  | { readonly do: 'fail sync'; readonly how: 'refused' | 'unclear' | 'pretended' }
  | { readonly do: 'fail port'; readonly port: PortName; readonly how: PortFault }
  | { readonly do: 'fail network'; readonly how: 'request lost' | 'answer lost' | 'sent twice' }
  | { readonly do: 'sleep'; readonly ms: number }
)

/** The kinds of machines that a run may have. */
export type Setting = 'disk' | 'database'

export interface Plan {
  readonly seed: number
  readonly setting: Setting
  /** Whether the sandbox keeps a journal of its requests. */
  readonly keepsJournal: boolean
  readonly steps: readonly Step[]
}

const STEPS = 12

const weighted = Object.entries(acts).flatMap(([name, { weight = 1 }]) => Array.from({ length: weight }, () => name))

export function planOf(seed: number): Plan {
  const draws = new Draws(`plan ${seed}`)
  const setting = draws.pick(['disk', 'database'] as const)
  const steps = Array.from({ length: STEPS }, (_, number) => ({
    number,
    gap: draws.oneIn(4) ? draws.between(500, 5000) : draws.between(0, 120),
    ...stepOf(draws, setting),
  })) as Step[]
  return { seed, setting, keepsJournal: draws.oneIn(6), steps }
}

function stepOf(draws: Draws, setting: Setting): object {
  if (draws.below(10) < 6) return { do: 'act', act: draws.pick(weighted) }
  switch (draws.below(8)) {
    case 0:
      return trapOf(draws.pick(moments), draws.below(4))
    case 1:
      return setting === 'disk' ? { do: draws.pick(['kill', 'lose power']) } : { do: 'kill' }
    case 2:
      return { do: draws.pick(setting === 'disk' ? ['restart', 'audit'] : ['restart', 'audit', 'hang', 'hang']) }
    case 3:
      return setting === 'disk'
        ? { do: 'fail sync', how: draws.pick(['refused', 'unclear', 'pretended']) }
        : { do: 'fail commit', how: draws.pick(['aborted', 'lost answer', 'rerun']) }
    case 4:
    case 5: {
      const how = draws.pick(['refused', 'unanswered', 'slow'])
      return { do: 'fail port', port: draws.pick(['mail', 'push', 'cards', 'upstream']), how }
    }
    case 6:
      return { do: 'fail network', how: draws.pick(['request lost', 'answer lost', 'sent twice']) }
    default:
      return { do: 'sleep', ms: draws.pick([60_000, 600_000, 7_200_000, 90_000_000]) }
  }
}

/** Few charge a card, so the first who does dies. */
const trapOf = (moment: Moment, passes: number) => ({
  do: 'trap',
  moment,
  passes: moment === 'a card is charged' ? 0 : passes,
})
