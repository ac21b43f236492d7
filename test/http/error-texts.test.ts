import { describe, expect, it } from 'vitest'
import { settings } from '../../sandbox/config.js'
import { problemCodes, problemSentence } from '../../src/base/problem.js'
import { errorText } from '../../src/http/error-pages/error-texts.js'
import { options } from '../../src/options.js'
import { routeOf } from '../support/api.js'

const sentences = problemCodes.flatMap((code) => {
  const { meaning, causes, fixes } = errorText(code)
  return [meaning, ...causes, ...fixes].map((text) => ({ code, text }))
})
/** What stands in backticks. */
const codes = sentences.flatMap(({ code, text }) =>
  text.split('`').flatMap((part, place) => (place % 2 === 1 ? [{ code, part }] : [])),
)

describe('the texts of the error pages', () => {
  it('are whole sentences that say more than the error itself', () => {
    const wrong = sentences.filter(({ text }) => !/[.!?]$|`\.?$/.test(text) || text.split('`').length % 2 === 0)
    expect(wrong).toEqual([])
    // A line of a page that is neither a cause nor a fix.
    expect(sentences.filter(({ text }) => text.includes('\n'))).toEqual([])
    expect(problemCodes.filter((code) => errorText(code).meaning === problemSentence(code))).toEqual([])
    const counts = problemCodes.map(errorText).flatMap(({ causes, fixes }) => [causes.length, fixes.length])
    expect([Math.min(...counts), Math.max(...counts)]).toEqual([1, 4])
  })

  it('name only calls that exist', () => {
    const calls = codes.flatMap(({ code, part }) => {
      const [, method = 'GET', path] =
        /^(?:(GET|POST|PUT|DELETE) )?(\/(?:v\d|mcp|_sandbox|docs)\/[^\s]+)$/.exec(part) ?? []
      return path === undefined || path.endsWith('/') ? [] : [{ code, method, path, hasMethod: part !== path }]
    })
    expect(calls.length).toBeGreaterThan(120)
    const exists = (method: string, path: string) => routeOf(method, path.replace(/\{\w+\}/g, '1')) !== undefined
    const missing = calls.filter(({ method, path, hasMethod }) =>
      hasMethod ? !exists(method, path) : !['GET', 'POST', 'PUT', 'DELETE'].some((each) => exists(each, path)),
    )
    expect(missing).toEqual([])
  })

  it('name only options and flags that exist', () => {
    const flags = Object.values(settings).map(({ flags: text }) => text.split(' ')[0])
    const named = codes.flatMap(({ code, part }) => (part.startsWith('--') ? [{ code, flag: part.split(' ')[0] }] : []))
    expect(named.length).toBeGreaterThan(4)
    expect(named.filter(({ flag }) => !flags.includes(flag))).toEqual([])
    const given = codes.flatMap(({ code, part }) => {
      const [, first] = /createService\(\{ (\w+)/.exec(part) ?? []
      return first === undefined ? [] : [{ code, first }]
    })
    expect(given.length).toBeGreaterThan(5)
    expect(given.filter(({ first }) => !Object.hasOwn(options, first))).toEqual([])
  })
})
