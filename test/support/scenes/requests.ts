import type { Answer, CallOptions } from '../api.js'

/** The request that the options of a call stand for. */
export function requestOf(
  method: string,
  url: string,
  { body, form, raw, token, session, headers = {} }: CallOptions,
): Request {
  const sent =
    raw ?? (form ? new URLSearchParams(form).toString() : body === undefined ? undefined : JSON.stringify(body))
  const type = form ? 'application/x-www-form-urlencoded' : body === undefined ? undefined : 'application/json'
  return new Request(url, {
    method,
    redirect: 'manual',
    headers: {
      ...(type && { 'content-type': type }),
      ...(token && { authorization: `Bearer ${token}` }),
      ...(session && { 'x-session-id': session }),
      ...headers,
    },
    ...(sent !== undefined && { body: sent }),
    ...(sent instanceof ReadableStream && { duplex: 'half' }),
  })
}

/** What a caller sees of a response with this text. */
export function answerOf({ status, headers }: Response, text: string): Answer {
  const isJson = /^application\/(problem\+)?json/.test(headers.get('content-type') ?? '')
  return { status, headers, text, body: isJson && text ? JSON.parse(text) : undefined }
}
