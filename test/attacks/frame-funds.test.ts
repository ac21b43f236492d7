import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { attackedFrame, holdClock, moveClock, press, SETTLED_MS, stoppable } from '../support/browser/hostile-page.js'

/** Pages that want their reader to add funds without seeing the button. */

const { shop, paidNow } = attackedFrame()

describe('a page that wants its reader to get funds', () => {
  /** More than the reader has, so that the frame offers test funds. */
  const short = async (options = {}) => {
    const visited = await shop().visit(await shop().sell({ price: 5000 }), options)
    await visited.shown.open.click()
    await visited.shown.fund.waitFor()
    await expect.poll(() => visited.shown.fund.isEnabled()).toBe(true)
    return visited
  }

  it.each([
    ['opacity', `place.style.opacity = '0.01'`],
    ['cutting it off', `frame.style.clipPath = 'inset(60% 0 0 0)'`],
  ])('cannot with a button that is hidden by %s', async (_, hide) => {
    const { act, shown } = await short()
    await act(hide)
    await expect.poll(() => shown.fund.isEnabled()).toBe(false)
    await shown.fund.click({ force: true })
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
  })

  it('cannot with a scripted click, nor with a message', async () => {
    const { act, shown } = await short()
    await shown.fund.evaluate((button: HTMLButtonElement) => button.click())
    for (const message of ['_TQMFund', '_TQMPaymentMethod;pm_card_visa', '_TQMTopUp;{"amount":5}'])
      await act(`frame.contentWindow.postMessage('${message}', '*')`)
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
    expect(await shown.topUp.isVisible()).toBe(false)
  })

  it('cannot have the click that adds funds pay as well', async () => {
    const visited = await short(stoppable)
    const box = await visited.shown.fund.boundingBox()
    if (!box) throw new Error('The button is not shown.')
    const at: [number, number] = [box.x + box.width / 2, box.y + box.height / 2]
    await visited.page.mouse.move(...at)
    await holdClock(visited)
    await moveClock(visited, 600)
    await press(visited, at)
    await expect.poll(() => paidNow()).toBe(1)
    for (let clicks = 0; clicks < 3; clicks++) await press(visited, at)
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(1)
  })
})
