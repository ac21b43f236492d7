import { useEffect, useState } from 'preact/hooks'
import { type Answer, call, headersAs } from './api.js'
import { act } from './state.js'

interface ExampleCall {
  readonly method: string
  readonly path: string
  readonly as?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

interface Explanation {
  readonly verdict: string
  readonly sentences: readonly string[]
  readonly fix: {
    readonly operation_id: string
    readonly example: ExampleCall
    readonly next: ExampleCall | null
  } | null
  readonly docs: string
}

/** Why a request was refused, and the call that fixes it. */
export function Explained({ id }: { id: string }) {
  const [why, setWhy] = useState<Explanation>()
  useEffect(() => {
    call('GET', `_sandbox/requests/${id}/explain`).then(({ ok, body }) => ok && setWhy(body))
  }, [id])
  return why ? <Why why={why} /> : null
}

const Why = ({ why }: { why: Explanation }) => (
  <div class="why" role="note">
    <p>
      <strong>{why.verdict}</strong>
    </p>
    {why.sentences.map((sentence) => (
      <p key={sentence}>{sentence}</p>
    ))}
    <p class="acts">
      {why.fix && (
        <button type="button" class="primary" onClick={() => why.fix && fix(why.fix)}>
          Fix it
        </button>
      )}
      <a href={why.docs}>About this error</a>
    </p>
    {why.fix && (
      <p class="muted small">
        Fix it sends <code>{`${why.fix.example.method} ${why.fix.example.path}`}</code>
        {why.fix.next && (
          <>
            , then <code>{`${why.fix.next.method} ${why.fix.next.path}`}</code>
          </>
        )}
        .
      </p>
    )}
  </div>
)

/** Sends the call of an explanation, and what comes next. */
async function fix({ example, next }: NonNullable<Explanation['fix']>): Promise<void> {
  const first = await sendAs(example)
  if (!first.ok || !next) return void act('Fixed.', Promise.resolve(first))
  await act('Fixed, and the request went through.', sendAs(next))
}

/** Sends a call as the caller that it names. Controls need nobody. */
async function sendAs({ method, path, as, headers, body }: ExampleCall): Promise<Answer> {
  const named = as === undefined ? {} : await headersAs(as, as.startsWith('user:') ? 'session' : undefined)
  return call(method, path, {
    ...(body !== undefined && { body }),
    headers: { ...headers, ...named },
    isShown: true,
  })
}
