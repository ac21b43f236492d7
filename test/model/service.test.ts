import fc from 'fast-check'
import { expect, test } from 'vitest'
import { howMuch } from '../support/how-much.js'
import { Model } from './service/model.js'
import { steps } from './service/steps.js'
import { BEGIN, FUNDS, SHOP, USERS, World } from './service/world.js'

const RUNS = Number(process.env.FARTHING_RUNS ?? howMuch(10, 1000))
const { FARTHING_SEED: seed, FARTHING_PATH: path, FARTHING_REPLAY: replayPath } = process.env

/** How to run the one failing run again, and all that it asked of the service. */
function replay(details: fc.RunDetails<[Iterable<fc.AsyncCommand<Model, World>>]>, world: World | undefined): string {
  const sent = world?.sent.map(({ method, path, by, body }) =>
    [`${method} ${path}`, by && `by ${by}`, body && JSON.stringify(body)].filter(Boolean).join('  '),
  )
  const [, replay] = /replayPath="([^"]*)"/.exec(String(details.counterexample?.[0])) ?? []
  return [
    `Run it again:\n  npm run test:long -- --seed ${details.seed} --path ${details.counterexamplePath} --replay ${replay}`,
    `The steps:\n  ${details.counterexample?.[0]}`,
    `What was asked of the service:\n  ${sent?.join('\n  ')}`,
    details.errorInstance instanceof Error ? details.errorInstance.message : '',
  ].join('\n\n')
}

test(
  `payments, holds, transfers, invitations, delegates, top-ups and clocks agree with a plain model (${RUNS} runs)`,
  async () => {
    /** Of the smallest run that fails. */
    let failed: World | undefined
    const some = fc.commands(steps, { maxCommands: 40, size: 'max', ...(replayPath !== undefined && { replayPath }) })
    const property = fc.asyncProperty(some, async (commands) => {
      const world = await World.begin()
      try {
        await fc.asyncModelRun(() => ({ model: new Model(BEGIN, [SHOP, ...USERS], FUNDS), real: world }), commands)
      } catch (error) {
        failed = world
        throw error
      } finally {
        await world.service.close()
      }
    })
    const details = await fc.check(property, {
      numRuns: RUNS,
      ...(seed !== undefined && { seed: Number(seed) }),
      ...(path !== undefined && { path, endOnFailure: true }),
    })
    if (details.failed) expect.fail(replay(details, failed))
  },
  60_000 + RUNS * 500,
)
