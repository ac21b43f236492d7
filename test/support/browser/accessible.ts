import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Frame, Page } from 'playwright-core'
import { expect } from 'vitest'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  id: string
  impact: string
  nodes: { html: string; failureSummary: string }[]
}

/** What axe finds serious or critical in a frame. */
async function seriousIn(frame: Frame): Promise<string[]> {
  await frame.evaluate(axe)
  const found: Finding[] = await frame.evaluate(`axe.run({ iframes: false }).then(({ violations }) => violations)`)
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
}

/** Nothing serious, and nothing wider than the window. */
export async function expectAccessible(page: Page, state: string): Promise<void> {
  // What still moves is measured in colours it does not have.
  await page.waitForTimeout(250)
  for (const frame of page.frames()) {
    expect(await seriousIn(frame), `${state}, ${frame.url()}`).toEqual([])
    const wider = await frame.evaluate('document.documentElement.scrollWidth > innerWidth')
    expect(wider, `${state} fits its width`).toBe(false)
  }
}
