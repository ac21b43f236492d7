import type { Scenes } from './scene.js'

/** Bodies and fields that cannot be read. */
export const bodyScenes = {
  body_malformed: {
    provoke: ({ ask, reader, article }) => ({
      request: ask('POST', `/v4/payment/${article.hash}`, {
        token: reader.token,
        raw: '{"cost":0.25,}',
        headers: { 'content-type': 'application/json' },
      }),
      facts: { content_type: 'application/json', characters: 14 },
      says: ['14 characters', 'application/json', 'A comma before a closing bracket'],
    }),
  },
  'body_malformed (half a body)': {
    provoke: ({ ask, reader, article }) => ({
      request: ask('POST', `/v4/payment/${article.hash}`, {
        token: reader.token,
        raw: '{"cost":0.25, "hostname": "a.tw',
        headers: { 'content-type': 'application/json' },
      }),
      facts: { characters: 31, begins: '{"cost":0.25, "hostname": "a.tw' },
      says: ['31 characters', 'Correct the text'],
      fix: 'none',
    }),
  },
  content_type_refused: {
    provoke: ({ ask, reader, article }) => ({
      request: ask('POST', `/v4/payment/${article.hash}`, {
        token: reader.token,
        raw: '{"cost":0.25}',
        headers: { 'content-type': 'text/plain' },
      }),
      facts: { content_type: 'text/plain', accepted: ['application/json', 'application/x-www-form-urlencoded'] },
      says: ['sent as text/plain', 'reads application/json'],
    }),
  },
  field_invalid: {
    provoke: ({ ask, seller, article }) => ({
      request: ask('POST', '/v4/commodity', {
        token: seller.token,
        body: { descriptor: 'A', dq: article.dq, cost: '0.5', twin_id: article.twinId },
      }),
      facts: { field: 'cost', value: '0.5' },
      says: ['The field `cost` was "0.5"', '`descriptor`'],
    }),
  },
  'field_invalid (missing)': {
    provoke: ({ ask, seller, article }) => ({
      request: ask('POST', '/v4/commodity', {
        token: seller.token,
        body: { descriptor: 'A', dq: article.dq, twin_id: article.twinId },
      }),
      facts: { field: 'cost', value: null },
      says: ['The field `cost` is not there', '`cost`', 'Send it'],
      fix: 'none',
    }),
  },
  amount_invalid: {
    provoke: ({ ask, seller, article }) => ({
      request: ask('POST', '/v4/commodity', {
        token: seller.token,
        body: { descriptor: 'A', dq: article.dq, cost: 0.12345, twin_id: article.twinId },
      }),
      facts: { field: 'cost', amount: 0.12345, decimals: 3, smallest: 0.001 },
      says: ['`cost` was 0.12345', 'at most 3 decimals', '0.001'],
    }),
  },
  card_data_refused: {
    provoke: ({ ask, reader }) => ({
      request: ask('POST', `/v4/twin/${reader.hostname}/topup`, {
        token: reader.token,
        body: { amount: 5, payment_method_id: '4242 4242 4242 4242' },
      }),
      facts: { fields: ['payment_method_id'], test_payment_method: 'pm_card_visa' },
      says: ['`payment_method_id` held what looks like a card number', 'pm_card_visa'],
    }),
  },
  body_too_large: {
    options: { limits: { bodyBytes: 1000 } },
    provoke: ({ ask, reader, article }) => ({
      request: ask('POST', `/v4/payment/${article.hash}`, {
        token: reader.token,
        body: { hostname: 'a'.repeat(1000) },
      }),
      facts: { limit: 'limits.bodyBytes', most_bytes: 1000 },
      says: ['at most 1000 bytes', '`limits.bodyBytes`'],
      fix: 'none',
    }),
  },
  cursor_invalid: {
    provoke: ({ ask, reader }) => ({
      request: ask('GET', '/v4/payments?after=999', { token: reader.token }),
      facts: { after: '999', caller: `user:${reader.id}` },
      says: ['`after` was "999"'],
    }),
  },
} satisfies Scenes
