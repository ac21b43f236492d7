import type { Fault } from '../../../src/index.js'
import { readPage } from './markdown.js'

/** The cells of all tables of a page, without their heads. */
export const tableCells = (page: string): string[][] =>
  readPage(page)
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| mode'))
    .map((line) =>
      line
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim()),
    )

/** The hostile modes of the guide. `isShop`: it is the own shop that is hostile, and not the facilitator. */
export const hostileModes = tableCells('docs/guides/break-x402.md').map(([mode = '', ledger = '', , json = '']) => {
  const fault = JSON.parse(json.slice(1, -1)) as Fault
  return { mode, ledger, fault, isShop: fault.match.operation_id === 'callCatalogItemByGet' }
})

/** The same fault without a wait that tests would notice. */
export const hastened = (fault: Fault): Fault => (fault.do.delay_ms ? { ...fault, do: { delay_ms: 1 } } : fault)
