/** Paths that answer without the start and the storage, and leave no entry. */
export const isProbe = (path: string): boolean => path === '/healthz' || path === '/readyz' || path === '/metrics'
export const isControlPath = (path: string): boolean => /^\/(_sandbox\/|metrics\/?$)/.test(path)
