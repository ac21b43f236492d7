/** The form in which addresses are stored and compared: lower case, trimmed, NFC. */
export const normalEmail = (email: string): string => email.trim().normalize('NFC').toLowerCase().normalize('NFC')
