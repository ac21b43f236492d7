// What a server does with far more callers than it can answer: payments of 2,000 connections that repeat at once, beside
// 32, and the same of a raw server, so that it shows what the connections themselves cost.
import autocannon from 'autocannon'
import { median } from './figures.mjs'
import { prepare, startServer } from './http.mjs'

const FEW = 32
const MANY = 2000
/** How often someone looks at the service in the middle of it. */
const LOOK_MS = 50

async function run(server, request, { connections, seconds }) {
  await server.ask('delay')
  const before = await server.ask('usage')
  const result = await autocannon({ ...request, connections, duration: seconds, workers: 1 })
  const cpuSeconds = ((await server.ask('usage')) - before) / 1e6
  const delayMs = await server.ask('delay')
  return {
    // What else runs on the machine changes this little.
    perCpuSecond: result['2xx'] / cpuSeconds,
    answered: result['2xx'] / result.duration,
    refused: result.non2xx / result.duration,
    errors: result.errors,
    medianMs: result.latency.p50,
    p99Ms: result.latency.p99,
    delayMs,
  }
}

/** How long a probe and a control take together while a job runs, each time. In order of length. */
async function lookDuring(job, url) {
  let isRunning = true
  const tookMs = []
  const looking = (async () => {
    while (isRunning) {
      const began = performance.now()
      for (const path of ['/healthz', '/_sandbox/clock']) {
        const answer = await fetch(url + path)
        if (!answer.ok) throw new Error(`${path}: ${answer.status}`)
        await answer.arrayBuffer()
      }
      tookMs.push(performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  })()
  const done = await job
  isRunning = false
  await looking
  return [done, tookMs.sort((a, b) => a - b)]
}

export async function overloadFigures({ seconds }) {
  const servers = [await startServer('farthing'), await startServer('raw')]
  const [farthing, raw] = servers
  try {
    const { pay } = await prepare(farthing.url)
    const rawPost = { url: raw.url, method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    await run(farthing, pay, { connections: FEW, seconds: 1 })
    await run(raw, rawPost, { connections: FEW, seconds: 1 })
    const few = await run(farthing, pay, { connections: FEW, seconds })
    const rawFew = await run(raw, rawPost, { connections: FEW, seconds })
    const crowd = run(farthing, pay, { connections: MANY, seconds })
    const [many, lookedMs] = await lookDuring(crowd, farthing.url)
    const rawMany = await run(raw, rawPost, { connections: MANY, seconds })
    const perSecond = (rate) => `${Math.round(rate)}/s`
    return [
      {
        name: `payments answered, ${MANY} connections / ${FEW}`,
        ratio: many.answered / few.answered,
        target: '>= 0.7',
        detail: [
          `${perSecond(many.answered)} answered and ${perSecond(many.refused)} turned away with ${MANY} connections`,
          `(${many.errors} errors, median ${many.medianMs} ms, p99 ${many.p99Ms} ms), ${perSecond(few.answered)} with ${FEW}`,
        ].join(' '),
      },
      {
        name: `payments answered per second of the server's processor time, ${MANY} connections / ${FEW}`,
        ratio: many.perCpuSecond / few.perCpuSecond,
        target: '>= 0.5',
        detail: `${Math.round(many.perCpuSecond)} beside ${Math.round(few.perCpuSecond)}`,
      },
      {
        name: `raw node:http POST, ${MANY} connections / ${FEW}`,
        ratio: rawMany.answered / rawFew.answered,
        target: 'none: the cost of the connections',
        detail: [
          `${perSecond(rawMany.answered)} beside ${perSecond(rawFew.answered)}, median ${rawMany.medianMs} ms, p99 ${rawMany.p99Ms} ms;`,
          `${(rawMany.perCpuSecond / rawFew.perCpuSecond).toFixed(2)} per second of processor time`,
        ].join(' '),
      },
      {
        name: 'p99 of the delay of the event loop in ms, at that load',
        ratio: many.delayMs,
        target: '<= 250',
        detail: `${few.delayMs.toFixed(0)} ms with ${FEW} connections`,
      },
      {
        name: 'ms for a probe and a control at that load, median',
        ratio: median(lookedMs),
        target: '<= 250',
        detail: `${Math.round(lookedMs.at(-1))} ms at most, ${lookedMs.length} times`,
      },
    ]
  } finally {
    for (const server of servers) server.stop()
  }
}
