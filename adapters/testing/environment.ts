import type { Credentials } from 'farthing'

/** The environment variables from which a program learns where its sandbox is, and the first credentials in it. */
export function environmentOf(
  url: string,
  { accounts: [account], users: [user] }: Credentials,
): Readonly<Record<string, string>> {
  return {
    FARTHING_URL: url,
    ...(account && {
      FARTHING_CLIENT_ID: account.client_id,
      FARTHING_CLIENT_SECRET: account.client_secret,
      FARTHING_PUBLIC_SECRET: account.public_secret,
    }),
    ...(user && {
      FARTHING_USER_EMAIL: user.email,
      FARTHING_USER_CLIENT_ID: user.client_id,
      FARTHING_USER_CLIENT_SECRET: user.client_secret,
    }),
  }
}
