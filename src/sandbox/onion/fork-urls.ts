/** Where the forks of a sandbox are, below its base URL. */
export const FORKS = '/_sandbox/forks/'

/** The base URL of a service, or of that whose fork it is: there is what a sandbox serves beside its service. */
export const rootUrl = ({ baseUrl }: { readonly baseUrl: string }): string => baseUrl.split(FORKS, 1)[0] ?? baseUrl
