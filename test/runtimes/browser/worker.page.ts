import { register } from '../../../adapters/service-worker.js'
import { cancelStream, fetchFromPage, nextPiece } from './carried.js'
import type { Commands } from './commands.js'
import { obey } from './obey.js'

const ready = register('worker.js')

/** Has the worker do something; throws what it throws. */
async function ask(command: keyof Commands, ...args: unknown[]): Promise<any> {
  const { active } = await ready
  const { port1, port2 } = new MessageChannel()
  const answered = new Promise<MessageEvent>((resolve) => {
    port1.onmessage = resolve
  })
  active?.postMessage({ command, args }, [port2])
  const { data } = await answered
  if (data.error !== undefined) throw new Error(data.error)
  return data.value
}

obey({
  start: (id, options) => ask('start', id, options),
  fetch: (request) => ready.then(() => fetchFromPage(request)),
  nextPiece,
  cancelStream,
  state: (id) => ask('state', id),
  stop: (id) => ask('stop', id),
})
