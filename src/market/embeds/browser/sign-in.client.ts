import { byId, elementById, type Flow, onClick, onSubmit, showStep } from './dialog.client.js'
import { forgetSession, postSendCode, postVerifyCode, type Refused, signedInAs, signOut } from './service.client.js'

/** The steps of signing in by a mailed code, before the step that a dialog is for. */

const emailStep = byId('email-step')
const emailField = elementById('email', HTMLInputElement)
const codeStep = byId('code-step')
const codeField = elementById('code', HTMLInputElement)
const deviceWait = byId('device-wait')

interface Purpose {
  readonly step: HTMLElement
  offer(email: string): Promise<void>
  /** Shows the step to someone who has just signed in. Default: `offer`. */
  welcome?(email: string): Promise<void>
  readonly sentences: Sentences
  /** Handles a refusal of this step. Returns a further sentence for the user. */
  refused?(refused: Refused): Promise<string>
}

export function signInFlow(purpose: Purpose): Flow {
  onSubmit(emailStep, sendCode)
  onSubmit(codeStep, async () => {
    try {
      await postVerifyCode(typedEmail(), codeField.value, () => {
        deviceWait.hidden = false
      })
    } finally {
      deviceWait.hidden = true
    }
    showEmail(typedEmail())
    await (purpose.welcome ?? purpose.offer)(typedEmail())
  })
  onClick('resend', sendCode)
  onClick('other-email', async () => askForEmail())
  onClick('sign-out', useAnotherEmail)
  return {
    async begin() {
      // The second click of a double click must not hit a button of the dialog.
      const [email] = await Promise.all([signedInAs(), new Promise((resolve) => setTimeout(resolve, 400))])
      if (email === null) return askForEmail()
      showEmail(email)
      await purpose.offer(email)
    },
    // It is unknown who is signed in. The step itself will show it.
    resume: () => showStep(purpose.step),
    async refused(refused) {
      const own = !purpose.step.hidden
      if (refused.code === 'sign_in_required') {
        forgetSession()
        askForEmail()
      }
      markField(codeField, refused.code === 'code_wrong')
      markField(emailField, refused.code === 'field_invalid')
      const more = own ? await purpose.refused?.(refused) : undefined
      return [sentenceFor(refused, purpose.sentences), more].filter(Boolean).join(' ')
    },
  }
}

const typedEmail = (): string => emailField.value.trim()

async function sendCode(): Promise<void> {
  await postSendCode(typedEmail())
  byId('sent-to').textContent = typedEmail()
  codeField.value = ''
  showStep(codeStep, codeField)
}

const askForEmail = (): void => showStep(emailStep, emailField)

export async function useAnotherEmail(): Promise<void> {
  await signOut()
  emailField.value = ''
  askForEmail()
}

function markField(field: HTMLInputElement, wrong: boolean): void {
  field.setAttribute('aria-invalid', String(wrong))
  if (wrong) field.select()
}

function showEmail(email: string): void {
  emailField.value = byId('signed-in-as').textContent = email
}

/** Sentences for users by code: what happened, and what to do next. */
export type Sentences = Readonly<Record<string, (refused: Refused) => string>>

const sentenceFor = (refused: Refused, own: Sentences): string =>
  (own[refused.code] ?? shared[refused.code])?.(refused) ?? refused.message

const shared: Sentences = {
  unreachable: () => 'Cannot reach the payment service. Check your connection and try again.',
  internal_error: () => 'The payment service failed. Try again in a moment.',
  field_invalid: () => 'This is not an email address. Correct it and try again.',
  code_wrong: () => 'This code is wrong. Check the mail and enter it again.',
  code_expired: () => 'This code has expired or was already used. Send a new code.',
  too_many_tries: () => 'You entered too many wrong codes. Send a new code.',
  too_many_codes: (refused) =>
    `Too many codes were sent to this email. Try again ${wait(refused)}, or use another email.`,
  rejected: () => 'You rejected this on your device. Send a new code to try again.',
  too_many_mails: (refused) => `Too many requests were sent to you. Try again ${wait(refused)}.`,
  sign_in_required: () => 'Your sign-in has ended. Sign in again.',
}

/** Whether the outcome is known. Without an answer, it is not. */
export const isKnown = ({ status }: Refused): boolean => status >= 400 && status < 500

function wait({ retryAfterSeconds }: Refused): string {
  if (!retryAfterSeconds) return 'later'
  const minutes = Math.ceil(retryAfterSeconds / 60)
  return minutes === 1 ? 'in a minute' : `in ${minutes} minutes`
}
