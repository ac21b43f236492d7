import type { Service } from 'farthing'

/**
 * Returns the sign-in code of the newest mail to an address whose code it has not returned yet. Waits for one, at most
 * `seconds` of real time (default: 5), and then throws an Error.
 */
export type CodeFor = (email: string, options?: { seconds?: number }) => Promise<string>

/** Hands out the codes that a service mails, each once: a test that signs in twice gets two codes. */
export function mailedCodes({ sandbox }: Pick<Service, 'sandbox'>): CodeFor {
  const returned = new Set<number>()
  async function newestCode(email: string): Promise<string | undefined> {
    const { messages } = await sandbox.outbox({ to: email, kind: 'mail' })
    const [mail] = messages.filter(({ codes }) => codes.length > 0)
    if (!mail || returned.has(mail.id)) return undefined
    returned.add(mail.id)
    return mail.codes[0]
  }
  return async (email, { seconds = 5 } = {}) => {
    const over = new AbortController()
    const late = setTimeout(() => over.abort(), seconds * 1000)
    const work = sandbox.requests.follow({}, { signal: over.signal })
    try {
      for (;;) {
        // Listens first, so that it misses no mail.
        const next = work.next()
        // Nobody waits for it once there is a code.
        next.catch(() => {})
        const code = await newestCode(email)
        if (code !== undefined) return code
        if ((await next).done) throw new Error(`No code was mailed to ${email} within ${seconds} seconds.`)
      }
    } finally {
      clearTimeout(late)
      over.abort()
    }
  }
}
