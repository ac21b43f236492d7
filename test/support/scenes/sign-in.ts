import type { Answer, Call } from '../api.js'

/** Steps of signing in by a mailed code. */

export const newGuest = async (call: Call): Promise<string> => (await call('GET', '/v4/session')).body.session_id

export const askCode = (call: Call, session: string, email: string): Promise<Answer> =>
  call('POST', '/v4/session/code', { session, body: { email } })

/** The code in the last mail to an address. */
export async function mailedCode(call: Call, email: string): Promise<string> {
  const { body } = await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(email)}&limit=1`)
  return body.messages[0].codes[0]
}

export const verify = (call: Call, session: string, email: string, code: string): Promise<Answer> =>
  call('POST', '/v4/session/verify', { session, body: { email, code } })

/** Another code than this one, of the same form. */
export const wrongCode = (code: string): string => code.replace(/\d$/, (last) => String((Number(last) + 1) % 10))
