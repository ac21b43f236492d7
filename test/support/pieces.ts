/** A promise and what settles it. */
export function deferred<T>() {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((keep) => {
    resolve = keep
  })
  return { promise, resolve }
}

const text = (piece: string) => new TextEncoder().encode(piece)

/** A stream that gives each piece when the test says so, and a promise that it was cancelled. */
export function streamOfPieces() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const cancelled = deferred<unknown>()
  const stream = new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    cancel: (reason) => cancelled.resolve(reason),
  })
  return {
    stream,
    cancelled: cancelled.promise,
    give: (piece: string) => controller?.enqueue(text(piece)),
    close: () => controller?.close(),
    fail: (error: Error) => controller?.error(error),
  }
}

/** The next piece of a stream. Undefined after the last one. */
export async function nextText(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> {
  const { done, value } = await reader.read()
  return done ? undefined : new TextDecoder().decode(value)
}
