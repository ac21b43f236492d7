import { type Client, client } from 'farthing/client'

let seller: Client | undefined

/** Our account. It is created with the first request, because a build has no credentials. */
export function sellerAccount(): Client {
  // `farthing exec` sets these for a sandbox. Set your own for the live service.
  const { FARTHING_URL = '', FARTHING_CLIENT_ID = '', FARTHING_CLIENT_SECRET = '' } = process.env
  seller ??= client(FARTHING_URL).as({ client_id: FARTHING_CLIENT_ID, client_secret: FARTHING_CLIENT_SECRET })
  return seller
}
