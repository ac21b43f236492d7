/** What every operation under `/_sandbox` has in common: the guard of the sandbox lets in who may call it. */
export const control = { evidence: 'designed', scope: 'sandbox', auth: ['none'] } as const
