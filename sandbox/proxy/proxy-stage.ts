import type { RunEnd } from '../../src/sandbox/rehearse/record.js'
import { RehearsalRefused, type RehearsalStage } from '../../src/sandbox/rehearse/rehearse-stage.js'
import type { PaymentProxy } from './proxy.js'

/** Runs an application once. `until`: it is stopped when this resolves. */
export type RunBefore = (
  url: string,
  options: { readonly until?: Promise<void> | undefined },
) => Promise<{ readonly ended: RunEnd; readonly output: string }>

/** Runs an application with a proxy before a service. The service keeps what earlier runs did. */
export const proxyStage = (proxy: PaymentProxy, run: RunBefore): RehearsalStage => ({
  // Its answer is one of farthing's.
  without: ['pending'],
  async run(plan) {
    let happen = () => {}
    const fault = new Promise<void>((resolve) => {
      happen = resolve
    })
    proxy.begin(plan, happen)
    if (plan.some(({ kind }) => kind === 'restart')) await run(proxy.url, { until: fault })
    const record = await proxy.end(await run(proxy.url, {}))
    if (plan.length === 0 && record.payments.length === 0 && proxy.failure !== undefined)
      throw new RehearsalRefused(`The service did not answer. ${proxy.failure}`)
    return record
  },
})
