/** The one form by which addresses are stored and compared. */
export const normalEmail = (email: string): string => email.trim().normalize('NFC').toLowerCase().normalize('NFC')
