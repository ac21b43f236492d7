/** Fields that all operations under `/_sandbox` share. The sandbox's guard checks their callers. */
export const control = { evidence: 'designed', scope: 'sandbox', auth: ['none'] } as const
