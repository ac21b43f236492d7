/** What a browser gets for `vitest`: tests are listed here, to be run one by one from outside. */
import { expect } from 'vitest'

const cases: { readonly title: string; readonly run: () => Promise<void> }[] = []
const groups: string[] = []

function describe(name: string, body: () => void): void {
  groups.push(name)
  body()
  groups.pop()
}

function test(name: string, run: () => Promise<void>): void {
  cases.push({ title: [...groups, name].join(' > '), run })
}

export { cases, describe, expect, test }
