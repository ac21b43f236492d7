import { afterEach, beforeEach } from 'vitest'
import { inProcess } from '../../runtimes/in-process.js'
import type { Running } from '../../runtimes/runtime.js'
import { type Call, caller } from '../api.js'
import type { Start, Started } from '../contract/contract.js'
import { startOf } from '../contract/start-of.js'

/** Returns a function that starts a service in this process. Each service closes after the test that started it. */
export function attacked(): Start {
  const open: Running[] = []
  afterEach(async () => {
    for (const running of open.splice(0)) await running.close()
  })
  return startOf(inProcess, (running) => {
    open.push(running)
    return { ...running, call: caller(running) }
  })
}

/** Starts a service before each test. */
export function attackedEach(): { readonly running: () => Started; readonly call: Call } {
  const start = attacked()
  let started: Started | undefined
  beforeEach(async () => {
    started = await start()
  })
  const running = () => {
    if (!started) throw new Error('The service runs only during a test.')
    return started
  }
  return { running, call: (...args) => running().call(...args) }
}
