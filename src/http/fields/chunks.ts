/** The body of a request, piece by piece. Who stops early does not read the rest. */
export async function* chunksOf(request: Request): AsyncGenerator<Uint8Array> {
  // Some browsers do not support streams of request bodies.
  if (request.body === undefined) yield new Uint8Array(await request.arrayBuffer())
  if (!request.body) return
  const reader = request.body.getReader()
  let isWhole = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      isWhole = done
      if (done) return
      yield value
    }
  } finally {
    // Not awaited, because it does not resolve while a clone of the request is unread.
    if (!isWhole) reader.cancel().catch(() => {})
  }
}
