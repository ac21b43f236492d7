/** What a browser gets for `vitest`: tests are listed here, to be run one by one from outside. */
import { expect } from 'vitest'

const cases: { readonly title: string; readonly run: () => Promise<void> }[] = []
const groups: string[] = []

function describe(name: string, body: () => void): void {
  groups.push(name)
  body()
  groups.pop()
}

type Run = () => Promise<void>

/** The page has no limits, so options are left out. */
function test(...[name, ...rest]: [name: string, run: Run] | [name: string, options: object, run: Run]): void {
  const run = rest.length === 1 ? rest[0] : rest[1]
  cases.push({ title: [...groups, name].join(' > '), run })
}

export { cases, describe, expect, test }
