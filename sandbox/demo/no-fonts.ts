/** Replaces the fonts of invoices, which would be a third of the worker. */
export const ownFonts = async (): Promise<[]> => []
