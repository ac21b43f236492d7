import { type FormEvent, useEffect, useState } from 'react'
import { type Price, pay, readPrice, readSession, sendCode, unlock, verifyCode } from './pay'

type Step = 'closed' | 'email' | 'code' | 'confirm'

/** An article whose rest a reader buys. */
export function Article({ hash }: { hash: string }) {
  const [price, setPrice] = useState<Price>()
  const [step, setStep] = useState<Step>('closed')
  const [email, setEmail] = useState('')
  const [story, setStory] = useState<string>()
  const [fault, setFault] = useState<string>()

  useEffect(() => {
    readPrice(hash).then(setPrice, (error) => setFault(error.message))
  }, [hash])

  async function next(form: FormData): Promise<Step> {
    if (step === 'closed') return (await readSession()).user ? 'confirm' : 'email'
    if (step === 'email') {
      const given = String(form.get('email'))
      await sendCode(given)
      setEmail(given)
      return 'code'
    }
    if (step === 'code') {
      await verifyCode(email, String(form.get('code')))
      return 'confirm'
    }
    if (price) setStory((await unlock(hash, await pay(hash, price))).story)
    return 'closed'
  }

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    setFault(undefined)
    try {
      setStep(await next(new FormData(event.currentTarget)))
    } catch (error) {
      setFault(error instanceof Error ? error.message : 'The payment service does not answer.')
    }
  }

  if (story) return <article>{story}</article>
  if (!price) return <p role="alert">{fault}</p>
  const label = { closed: 'Read on', email: 'Continue', code: 'Verify', confirm: `Pay ${price.cost.toFixed(2)}` }[step]
  return (
    <article>
      <p>The first lines are free.</p>
      <form onSubmit={submit}>
        {step === 'email' && (
          <label>
            Email <input name="email" type="email" required />
          </label>
        )}
        {step === 'code' && (
          <label>
            Code <input name="code" inputMode="numeric" required />
          </label>
        )}
        <button type="submit">{label}</button>
      </form>
      {fault && <p role="alert">{fault}</p>}
    </article>
  )
}
