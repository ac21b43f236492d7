import { From, type Mail } from './mails.js'

export interface Push extends Mail {
  readonly data: { readonly authentication_request_id: string }
}

export type Verb = 'approve' | 'reject'

/** Pushes that wait for an answer, each with its question and the two answers. */
export const Pushes = ({
  pushes,
  onAnswer,
}: {
  pushes: readonly Push[]
  onAnswer: (push: Push, verb: Verb) => void
}) => (
  <ul class="mails pushes" aria-label="Waiting for an answer">
    {pushes.map((push) => (
      <li key={push.id}>
        <From name={push.subject} at={push.created_at} id={`push-${push.id}`} />
        <div id={`asked-${push.id}`}>
          {push.text.split('\n').map((line) => (
            <p dir="auto">{line}</p>
          ))}
        </div>
        <p class="answers">
          {verbs.map(([verb, label]) => (
            <button
              type="button"
              class={verb === 'approve' ? 'primary' : ''}
              aria-describedby={`push-${push.id} asked-${push.id}`}
              onClick={() => onAnswer(push, verb)}
            >
              {label}
            </button>
          ))}
        </p>
      </li>
    ))}
  </ul>
)

const verbs: readonly (readonly [Verb, string])[] = [
  ['reject', 'Reject'],
  ['approve', 'Approve'],
]
