import { onTestFinished } from 'vitest'
import { inProcess } from '../../runtimes/in-process.js'
import { caller } from '../api.js'
import { startOf } from './start-of.js'

/** Starts a service in this process alone, for what is the same in every runtime. It is closed after the test. */
export const startHere = startOf(inProcess, (running) => {
  onTestFinished(() => running.close())
  return { ...running, call: caller(running) }
})
