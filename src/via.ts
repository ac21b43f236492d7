/** By which requests that a service makes for others say so (RFC 9110 section 7.6.3). */
export const VIA = '1.1 farthing'
