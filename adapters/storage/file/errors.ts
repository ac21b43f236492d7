/** A file of the storage is unreadable or damaged. Nothing was changed. The message says what to do. */
export class StorageDamaged extends Error {
  override name = 'StorageDamaged'
  constructor(
    readonly file: string,
    readonly line: number | undefined,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`${file}${line === undefined ? '' : `, line ${line}`}: ${reason}`, options)
  }
}

/** A different process, or a different part of this one, has the storage open. */
export class StorageLocked extends Error {
  override name = 'StorageLocked'
  constructor(
    readonly lock: string,
    readonly holder: { readonly pid: number; readonly host: string } | undefined,
  ) {
    const who = holder ? `process ${holder.pid} on ${holder.host}` : 'a process that did not say who it is'
    super(`The storage is in use by ${who}. Stop that first; if it is surely gone, remove ${lock}`)
  }
}
