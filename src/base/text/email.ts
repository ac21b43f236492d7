/** In characters (RFC 5321, section 4.5.3.1.3, without its angle brackets). */
export const LONGEST_EMAIL = 254

/**
 * The form in which addresses are stored and compared: lower case, trimmed, NFC. A longer text than any address stays as
 * it is, because normalizing sorts the marks on its letters, in steps that grow with its square.
 */
export function normalEmail(email: string): string {
  const text = email.trim()
  return text.length > LONGEST_EMAIL ? text : text.normalize('NFC').toLowerCase().normalize('NFC')
}
