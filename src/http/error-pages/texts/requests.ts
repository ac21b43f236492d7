import type { ErrorTexts } from './error-text.js'

/** Requests that cannot be read, or that name nothing. */
export const requestErrors = {
  body_malformed: {
    meaning:
      'The body could not be decoded, so none of its fields were read. The sentence says what was wrong with it.',
    causes: [
      'The body is not valid JSON, for example because of a trailing comma, or an object that was not passed through `JSON.stringify`.',
      'The body is JSON, but an array, a string or a number. Every operation takes an object.',
      'The text is not UTF-8, or the connection ended before the whole body arrived.',
    ],
    fixes: [
      'Send `Content-Type: application/json` with one JSON object, or `application/x-www-form-urlencoded` with a form.',
      'Send no body where the operation needs none: an absent body is valid, and a broken one is not.',
    ],
  },
  path_malformed: {
    meaning: 'The path has a percent escape that is not UTF-8, so it names nothing.',
    causes: ['A `%` in an id or a hostname was not escaped.', 'The path was encoded in another encoding than UTF-8.'],
    fixes: ['Pass each part of the path through `encodeURIComponent` before you join them.'],
  },
  target_malformed: {
    meaning:
      'The first line of the HTTP request names no address of this server. Only the Node server answers with this.',
    causes: ['A proxy or a hand-written client sent a request line that is neither a path nor an http URL.'],
    fixes: ['Send a path that begins with `/`, such as `GET /v4/dq HTTP/1.1`.'],
  },
  header_malformed: {
    meaning: 'A header makes the request unreadable, most often `Host`.',
    causes: [
      '`Host` is missing, is sent twice, or is not one host with an optional port.',
      'A proxy rewrote `Host` to something that makes no valid URL.',
      '`X-Sandbox-Fault` is no point and action of a fault.',
    ],
    fixes: [
      'Send exactly one `Host` header, such as `Host: 127.0.0.1:4242`.',
      'Write the fault like `X-Sandbox-Fault: after_commit; drop`.',
    ],
  },
  field_invalid: {
    meaning:
      'A field of the path, the query or the body is missing, has the wrong type, or has a value that is not allowed. Nothing was changed.',
    causes: [
      'A required field is missing, or its name is misspelled: the sentence suggests the nearest name.',
      'A number was sent as text, or the other way round.',
      'A value is longer than allowed, or not one of the listed values.',
    ],
    fixes: [
      'Read `field`: it is the path of the first wrong field, such as `spend.limit`. The sentence says what it must be.',
      '`GET /v4/openapi.json` describes every field of every operation.',
    ],
  },
  cursor_invalid: {
    meaning: '`after` is not a place in this list, so there is no next page.',
    causes: [
      'The cursor belongs to another list, or to the list of another caller.',
      'The page that it came from was read before a reset or a restored snapshot.',
      'It was made up, for example as a page number.',
    ],
    fixes: ['Start again without `after`, and send the `next` of each page unchanged until it is null.'],
  },
  card_data_refused: {
    meaning:
      'A field holds what looks like a card number. The service reads no further and stores nothing, so that card numbers never pass through it.',
    causes: [
      'A form sends the number of the card itself.',
      'A note or another text happens to contain a valid card number.',
    ],
    fixes: [
      "Let the card processor's own form read the card, and send the id that it returns as `payment_method_id`.",
      'In a sandbox, `GET /_sandbox/test-values` lists ids of test cards, such as `pm_card_visa`.',
    ],
  },
  no_such_path: {
    meaning:
      'No operation has this path. The sentence names the base URL of the service, which helps if the address is off by a prefix.',
    causes: [
      'The version is missing or not offered: most operations are below `/v4`.',
      'The service is mounted below a path, and `baseUrl` does not name it.',
      'It is a control below `/_sandbox/`, and the service was created without `sandbox: true`.',
    ],
    fixes: [
      'Compare the path with `GET /v4/openapi.json`.',
      'Create the service with the address that callers use: `createService({ baseUrl })` or `--base-url`.',
    ],
  },
  not_found: {
    meaning:
      'Nothing with this id exists for you. Something that belongs to another user gets the same answer, so that ids reveal nothing.',
    causes: [
      'The id or the hash is wrong, or of another kind: a hostname in place of a hash.',
      'It belongs to another account or user.',
      'It was deleted, or the sandbox was reset since you read the id.',
    ],
    fixes: [
      'Look for it in the list of its kind, such as `GET /v4/twins`, `GET /v4/commodities` or `GET /v4/payments`, with the same token.',
      'If an error of a cart names a `line`, the item of that line is gone: remove the line with `DELETE /v4/carts/{id}/items/{line}`.',
    ],
  },
  method_not_allowed: {
    meaning: 'The path exists, and this method does not.',
    causes: [
      'The call uses `PATCH` or `PUT` where the operation is a `POST`.',
      'A redirect or a proxy turned a `POST` into a `GET`.',
    ],
    fixes: ['Use a method of the `Allow` response header.'],
  },
  body_too_large: {
    meaning: 'The body is larger than the service reads. The sentence has the limit in bytes.',
    causes: [
      'A JSON body is larger than `limits.bodyBytes`: 1 MiB by default.',
      'A snapshot or a binder is larger than `limits.snapshotBytes` or `limits.binderBytes`.',
    ],
    fixes: [
      'Send less in one request.',
      'In your own service, raise the limit: `createService({ limits: { bodyBytes: … } })`.',
    ],
  },
  content_type_refused: {
    meaning: 'The body has a media type that the operation does not read. The sentence names those that it reads.',
    causes: [
      '`Content-Type` is missing, and the client sent `text/plain`, as `fetch` does for a string.',
      'A form was sent as `multipart/form-data`.',
    ],
    fixes: ['Set `Content-Type: application/json` and send JSON.', 'For a binder, send `Content-Type: text/csv`.'],
  },
  idempotency_key_invalid: {
    meaning: 'The `Idempotency-Key` header cannot be a key. Nothing was changed.',
    causes: ['The key is empty, longer than 255 characters, or has characters beyond printable ASCII.'],
    fixes: ['Send a new UUID for each thing that shall happen once: `crypto.randomUUID()`.'],
  },
  idempotency_in_progress: {
    meaning:
      'The first request with this key has not ended yet. It goes on, and its answer will be the answer for this key.',
    causes: [
      'A retry came while the first request still waits, for example for a person or for an upstream service.',
      'Two parts of a program use the same key at the same time.',
    ],
    fixes: [
      'Wait as long as `Retry-After` says, then repeat the same request with the same key. You get the first answer.',
    ],
  },
  idempotency_unreadable: {
    meaning:
      'This service cannot send the first answer for this key again: it is not kept, or it cannot be decrypted. The request was not repeated, because it has already happened.',
    causes: [
      'The service was started with another `encryptionKey` than the one that sealed the answer.',
      'The key file beside the state file was lost or replaced.',
      'The answer was large, and its caller had stored as much within a day as `limits.storedBytesPerDay` allows.',
    ],
    fixes: [
      'Read what happened with `GET /v4/events`.',
      'Start the service with the key of its state. For something new, use a new key.',
    ],
  },
  idempotency_mismatch: {
    meaning: 'This key was used in the last 24 hours for a request with other fields. Neither request was repeated.',
    causes: [
      'A key is made once per program instead of once per action.',
      'A retry changed a field, such as a timestamp or an amount.',
    ],
    fixes: ['Make a new key for each new request, and repeat a request with exactly the same fields.'],
  },
} satisfies ErrorTexts
