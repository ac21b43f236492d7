/** Replaces what several processes need to share a storage. The demo has its own, in the browser. */
export class ProcessGroup {
  constructor() {
    throw new Error('No other process shares the storage of the offline demo.')
  }
}
