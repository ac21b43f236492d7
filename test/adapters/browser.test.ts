import type { Browser } from 'playwright-core'
import { expect, test } from 'vitest'
import { launchBrowser, launchPackaged } from '../support/browser/browser.js'

async function usePage(browser: Browser): Promise<{ name: string | null; shot: Buffer }> {
  try {
    const page = await browser.newPage()
    await page.setContent('<h1>Farthing</h1><script>document.title = 6 * 7</script>')
    expect(await page.title()).toBe('42')
    return { name: await page.getByRole('heading').textContent(), shot: await page.screenshot() }
  } finally {
    await browser.close()
  }
}

const isPng = (shot: Buffer) => shot.subarray(1, 4).toString() === 'PNG' && shot.length > 1000

test('launchBrowser opens a visible page that runs scripts', async () => {
  const { name, shot } = await usePage(await launchBrowser())
  expect(name).toBe('Farthing')
  expect(isPng(shot)).toBe(true)
})

test.runIf(process.platform === 'linux' && process.arch === 'x64')(
  'the packaged browser needs nothing installed',
  async () => {
    const { name, shot } = await usePage(await launchPackaged())
    expect(name).toBe('Farthing')
    expect(isPng(shot)).toBe(true)
  },
  60_000,
)
