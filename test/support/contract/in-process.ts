import { onTestFinished } from 'vitest'
import { inProcess } from '../../runtimes/in-process.js'
import { caller } from '../api.js'
import type { Start } from './contract.js'

/** Starts a service in this process alone, for what is the same in every runtime. It is closed after the test. */
export const startHere: Start = async (options = {}) => {
  const running = await inProcess.start(options)
  onTestFinished(() => running.close())
  return { ...running, call: caller(running) }
}
