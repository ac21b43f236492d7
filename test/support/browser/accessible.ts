import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Frame, Page } from 'playwright-core'
import { expect } from 'vitest'
import { isWhole } from '../how-much.js'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  id: string
  impact: string
  nodes: { html: string; failureSummary: string }[]
}

/** What axe finds serious or critical in a frame. */
async function seriousIn(frame: Frame): Promise<string[]> {
  if (!(await frame.evaluate('typeof axe === "object"'))) await frame.evaluate(axe)
  const found: Finding[] = await frame.evaluate(
    `axe.run({ iframes: false, resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  )
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
}

/** Waits for every transition and animation that ends. */
const untilStill = `Promise.allSettled(
  document.getAnimations()
    .filter((each) => each.effect.getComputedTiming().endTime !== Infinity)
    .map((each) => each.finished)
)`

/** The timeout in ms of a test that checks every state of a page. */
export const EVERY_STATE_MS = 90_000

/**
 * Nothing serious, and nothing wider than the window: light and wide, or dark and `narrow`, by the name of the state, so that
 * each run looks at the same. `npm run test:all` checks four looks of each state. The page stays dark and narrow.
 */
export async function expectAccessible(page: Page, state: string, { narrow = 320 } = {}): Promise<void> {
  const [lightAndWide, darkAndNarrow] = [look('light', 1280), look('dark', narrow)]
  const one = state.length % 2 === 0 ? [lightAndWide] : [darkAndNarrow]
  for (const each of isWhole ? [lightAndWide, look('dark', 1280), look('light', narrow), darkAndNarrow] : one) {
    await show(page, each)
    await expectLook(page, `${state}, ${each.colorScheme}, ${each.width} wide`)
  }
  await show(page, darkAndNarrow)
}

/** The same for a state whose texts alone differ from those of another: in `npm run test:all`. */
export async function expectAccessibleToo(...given: Parameters<typeof expectAccessible>): Promise<void> {
  if (isWhole) await expectAccessible(...given)
}

const look = (colorScheme: 'light' | 'dark', width: number) => ({ colorScheme, width })

async function show(page: Page, { colorScheme, width }: ReturnType<typeof look>): Promise<void> {
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ colorScheme })
}

async function expectLook(page: Page, look: string, triesLeft = 3): Promise<void> {
  try {
    for (const frame of page.frames()) {
      // What still moves is measured in colours it does not have.
      await frame.evaluate(untilStill)
      expect(await seriousIn(frame), `${look}, ${frame.url()}`).toEqual([])
      const wider = await frame.evaluate('document.documentElement.scrollWidth > innerWidth')
      expect(wider, `${look} fits its width`).toBe(false)
    }
  } catch (error) {
    // A page that waits loads itself again now and then.
    const isReloaded = error instanceof Error && error.message.includes('Execution context was destroyed')
    if (!isReloaded || triesLeft === 0) throw error
    await expectLook(page, look, triesLeft - 1)
  }
}
