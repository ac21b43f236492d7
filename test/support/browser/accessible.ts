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
  if (!(await frame.evaluate('typeof axe === "object"'))) await frame.evaluate(axe)
  const found: Finding[] = await frame.evaluate(`axe.run({ iframes: false }).then(({ violations }) => violations)`)
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
}

/** The timeout in ms of a test that checks every state of a page. */
export const EVERY_STATE_MS = 90_000

/**
 * Nothing serious, and nothing wider than the window: light and wide, dark and `narrow`, where the page stays at the end.
 * `npm run test:all` also checks dark and wide, light and narrow.
 */
export async function expectAccessible(page: Page, state: string, { narrow = 320 } = {}): Promise<void> {
  const all = process.env.FARTHING_TEST_ALL !== undefined
  const looks = [
    ['light', 1280],
    ...(all ? ([['dark', 1280]] as const) : []),
    ...(all ? ([['light', narrow]] as const) : []),
    ['dark', narrow],
  ] as const
  for (const [colorScheme, width] of looks) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    await expectLook(page, `${state}, ${colorScheme}, ${width} wide`)
  }
}

async function expectLook(page: Page, look: string, triesLeft = 3): Promise<void> {
  // What still moves is measured in colours it does not have.
  await page.waitForTimeout(250)
  try {
    for (const frame of page.frames()) {
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
