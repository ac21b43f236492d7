/** Packages without types. These are the parts that tests use. */

declare module 'passport' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  type Middleware = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void

  export class Passport {
    use(name: string, strategy: object): this
    authenticate(name: string, options: { session: false }): Middleware
  }
}

declare module 'passport-openidconnect' {
  export interface Profile {
    readonly id: string
    readonly displayName: string
    readonly emails: readonly { readonly value: string }[]
  }

  export class Strategy {
    constructor(
      options: {
        issuer: string
        authorizationURL: string
        tokenURL: string
        userInfoURL: string
        clientID: string
        clientSecret: string
        callbackURL: string
        scope: readonly string[]
        nonce?: string
      },
      verify: (
        issuer: string,
        profile: Profile,
        context: object,
        idToken: string,
        accessToken: string,
        refreshToken: string,
        done: (error: unknown, user?: object) => void,
      ) => void,
    )
  }
}

declare module 'express' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  type Handle = (request: IncomingMessage, response: ServerResponse & { json(value: unknown): void }) => void
  interface Express {
    (request: IncomingMessage, response: ServerResponse): void
    use(middleware: unknown): this
    get(path: string, handle: Handle): this
  }
  export default function express(): Express
}
