import type { Seed } from '../../src/index.js'

const account = {
  name: 'The Daily Farthing',
  public_secret: 'mp_0000000000000000000000000000da11',
  client_id: 'mid_0000000000000000000000000000da11',
  client_secret: 'mc_0000000000000000000000000000da11',
  hostname: 'daily-farthing.twin.localhost',
}

/** Has funds. The email address fixes the sign-in code. */
const payer = {
  email: 'payer+code424242@example.test',
  code: '424242',
  hostname: 'payer.twin.localhost',
  balance: 20,
}

/** Has funds. Signs in with the code from the mail. */
const reader = { name: 'Wren', email: 'wren@example.test', hostname: 'wren.twin.localhost', balance: 20 }

/** Hashes of the other commodities that the account sells. */
const commodities = {
  article: '00000000-0000-4000-8000-0000000000a1',
  song: '00000000-0000-4000-8000-0000000000b2',
  donation: '00000000-0000-4000-8000-0000000000c3',
}

/** The item that agents buy. The sandbox answers its endpoint. */
const archive = {
  account: account.name,
  name: 'Archive search',
  description: 'Finds the paragraphs of The Daily Farthing that contain all the given words.',
  price: 0.02,
  descriptor: 'NEWS.ARCHIVE',
  external_endpoint: '/shop/archive',
  service_schema: {
    type: 'object',
    properties: { words: { type: 'string', maxLength: 200, description: 'For example: bronze coin.' } },
    required: ['words'],
  },
  featured: true,
}

/** The seed and the credentials that it fixes: a newspaper that sells an article and a song and takes donations, and two readers with funds. */
export const demo = {
  account,
  payer,
  reader,
  commodities,
  archive,
  seed: {
    accounts: [{ ...account, businessName: account.name }],
    users: [payer, reader].map(({ email, hostname, balance }) => ({ email, hostname, balance })),
    commodities: [
      { account: account.name, descriptor: 'NEWS.ARTICLE', cost: 0.25, hash: commodities.article },
      { account: account.name, descriptor: 'MUSIC.SONG', cost: 0.99, hash: commodities.song },
      { account: account.name, descriptor: 'PRESS.DONATION', cost: 0.5, hash: commodities.donation },
    ],
    items: [archive],
    // A buyer and a shop of x402 and MPP.
    wallets: [{ user: reader.email, balance: 20 }, { account: account.name }],
  } satisfies Seed as Seed,
}

export type Demo = typeof demo
