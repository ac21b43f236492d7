/** In characters (RFC 5321, section 4.5.3.1.3, without its angle brackets). */
export const LONGEST_EMAIL = 254

/** An address as it is stored and compared: lower case, trimmed, NFC. A longer text stays as it is: normalizing costs its square. */
export function normalEmail(email: string): string {
  const text = email.trim()
  return text.length > LONGEST_EMAIL ? text : text.normalize('NFC').toLowerCase().normalize('NFC')
}
