// The processor time of a request now, beside an earlier commit in the same run: a line that grew by more than 10% is a loss.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildEarlier } from './earlier.mjs'
import { median } from './figures.mjs'
import { load, prepare, startScript } from './http.mjs'

const BATCH = { amount: 3000 }
const LOSS = 1.1
const own = fileURLToPath(new URL('./server.mjs', import.meta.url))

export async function costFigures({ rounds }) {
  const { commit, server } = buildEarlier()
  const folder = mkdtempSync(join(tmpdir(), 'farthing-bench-'))
  const started = []
  const start = async (script, ...args) => {
    const process = await startScript(script, ...args)
    started.push(process)
    return { process, requests: await prepare(process.url) }
  }
  try {
    const memory = [await start(own, 'farthing'), await start(server, 'farthing')]
    const file = [
      await start(own, 'farthing', join(folder, 'now.json')),
      await start(server, 'farthing', join(folder, 'earlier.json')),
    ]
    const figures = []
    for (const [what, kind, sides] of [
      ['twin read, memory', 'readTwin', memory],
      ['payment, memory', 'pay', memory],
      ['token, memory', 'token', memory],
      ['payment, file', 'pay', file],
    ])
      figures.push(await compare({ what, kind, sides, commit, rounds }))
    return figures
  } finally {
    for (const { stop } of started) stop()
    rmSync(folder, { recursive: true })
  }
}

/** Ours and the earlier one take turns, and each round changes who is first. */
async function compare({ what, kind, sides, commit, rounds }) {
  const pairs = []
  for (const { process, requests } of sides) await load(process, requests[kind], { amount: 4 * BATCH.amount })
  for (let round = 0; round < rounds * 5; round++) {
    const took = []
    for (const at of round % 2 ? [1, 0] : [0, 1])
      took[at] = (await load(sides[at].process, sides[at].requests[kind], BATCH)).micros
    pairs.push(took)
  }
  const ratio = median(pairs.map(([now, then]) => now / then))
  const [now, then] = [0, 1].map((at) => `${median(pairs.map((pair) => pair[at])).toFixed(0)} us`)
  const detail = `${now} beside ${then}, ${ratio > 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(0)}%`
  return {
    name: `processor time, ${what}, now / at ${commit}`,
    ratio,
    target: `<= ${LOSS}`,
    detail,
    isLoss: ratio > LOSS,
  }
}
