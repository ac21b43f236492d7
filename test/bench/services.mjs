// How long a thousand services in memory take, each made for one test that makes one account.
import { createService } from 'farthing'
import { median } from './figures.mjs'

const COUNT = 1000

async function thousand() {
  const began = performance.now()
  for (let i = 0; i < COUNT; i++) {
    const service = createService()
    const answer = await service.fetch(new Request('http://127.0.0.1:4242/v4/account', { method: 'POST' }))
    if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`)
    await answer.json()
    await service.close()
  }
  return (performance.now() - began) / 1000
}

export async function servicesFigures({ rounds }) {
  const before = process.getActiveResourcesInfo().length
  const seconds = []
  for (let round = 0; round < rounds; round++) seconds.push(await thousand())
  const detail = `${process.getActiveResourcesInfo().length - before} handles and timers are left of them`
  return [{ name: 'seconds for 1,000 services with an account each', ratio: median(seconds), target: '<= 1', detail }]
}
