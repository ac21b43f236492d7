import { byId, elementById, type Flow, onClick, onSubmit, show } from './dialog.client.js'
import { type Sentences, sentenceFor } from './refusals.client.js'
import { forgetSession, postSendCode, postVerifyCode, type Refused, signedInAs, signOut } from './service.client.js'

/** The steps of signing in by a mailed code, before the one that a dialog is for. */

const emailStep = byId('email-step')
const emailField = elementById('email', HTMLInputElement)
const codeStep = byId('code-step')
const codeField = elementById('code', HTMLInputElement)
const deviceWait = byId('device-wait')

/** What comes after signing in. */
export interface Purpose {
  readonly step: HTMLElement
  /** For whoever was signed in when the dialog opened. */
  offer(email: string): Promise<void>
  /** For whoever has signed in by a code just now; `offer` where absent. */
  welcome?(email: string): Promise<void>
  /** Refusals in the words of this purpose. */
  readonly sentences: Sentences
  /** Does what a refusal of its own step asks for; gives what people are told after the sentence. */
  refused?(refused: Refused): Promise<string>
}

export function signInFlow(purpose: Purpose): Flow {
  onSubmit(emailStep, sendAndAsk)
  onSubmit(codeStep, async () => {
    try {
      await postVerifyCode(typedEmail(), codeField.value, () => {
        deviceWait.hidden = false
      })
    } finally {
      deviceWait.hidden = true
    }
    knowAs(typedEmail())
    await (purpose.welcome ?? purpose.offer)(typedEmail())
  })
  onClick('resend', sendAndAsk)
  onClick('other-email', async () => askForEmail())
  onClick('sign-out', useAnotherEmail)
  return {
    async begin() {
      // So long that the second half of a double click reaches no button of the dialog.
      const [email] = await Promise.all([signedInAs(), new Promise((resolve) => setTimeout(resolve, 400))])
      if (email === null) return askForEmail()
      knowAs(email)
      await purpose.offer(email)
    },
    // Who is signed in is not known: the step itself will tell.
    unbegun: () => show(purpose.step),
    async refused(refused) {
      const own = !purpose.step.hidden
      if (refused.code === 'sign_in_required') {
        forgetSession()
        askForEmail()
      }
      mark(codeField, refused.code === 'code_wrong')
      mark(emailField, refused.code === 'field_invalid')
      const more = own ? await purpose.refused?.(refused) : undefined
      return [sentenceFor(refused, purpose.sentences), more].filter(Boolean).join(' ')
    },
  }
}

const typedEmail = (): string => emailField.value.trim()

async function sendAndAsk(): Promise<void> {
  await postSendCode(typedEmail())
  byId('sent-to').textContent = typedEmail()
  codeField.value = ''
  show(codeStep, codeField)
}

const askForEmail = (): void => show(emailStep, emailField)

export async function useAnotherEmail(): Promise<void> {
  await signOut()
  emailField.value = ''
  askForEmail()
}

function mark(field: HTMLInputElement, wrong: boolean): void {
  field.setAttribute('aria-invalid', String(wrong))
  if (wrong) field.select()
}

/** Writes whom the last step is for, and what to sign in with should that end. */
function knowAs(email: string): void {
  emailField.value = byId('signed-in-as').textContent = email
}
