import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  attackedFrame,
  expectEnabled,
  holdClock,
  middleOf,
  moveClock,
  press,
  SETTLED_MS,
  stoppable,
} from '../support/browser/hostile-page.js'

/** Sellers who want their reader to pay another price than the one they saw. */

const { shop, paidNow } = attackedFrame()

describe('a seller who changes the price after it was shown', () => {
  it('cannot charge more: the frame shows the new price and asks again', async () => {
    const item = await shop().sell()
    const { shown, frame, told } = await shop().visit(item)
    await shown.open.click()
    await shown.balance.waitFor()
    await shop().change(item, { price: 5 })
    await shown.pay.click()
    await expect
      .poll(() => shown.alert.textContent())
      .toBe('The price has changed to 5.00 USD. Check it and pay again. Nothing was charged.')
    expect([await paidNow(), await told()]).toEqual([0, []])
    expect(await frame.locator('.price').textContent()).toBe('5.00 USD')
    await shown.pay.click()
    await shown.open.waitFor()
    expect(await shown.done.textContent()).toBe('Paid 5.00 USD.')
    expect(await shown.open.textContent()).toBe('Pay 5.00 USD')
    expect([await paidNow(), (await told()).length]).toEqual([1, 1])
  })

  it('cannot have the second half of a double click agree to the new price', async () => {
    const item = await shop().sell()
    const visited = await shop().visit(item, stoppable)
    await visited.shown.open.click()
    await shop().change(item, { price: 5 })
    await expectEnabled(visited)
    const pay = await middleOf(visited)
    // The pointer comes to rest before the clock stops: the first half of the double click counts.
    await visited.page.mouse.move(...pay)
    await expectEnabled(visited)
    await holdClock(visited)
    await moveClock(visited, 600)
    await press(visited, pay)
    await visited.shown.alert.waitFor()
    // The alert moves the button. A page could move the frame so that it stays under the pointer.
    const moved = await middleOf(visited)
    for (let clicks = 0; clicks < 6; clicks++) {
      await press(visited, moved)
      await moveClock(visited, 100)
    }
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
  })

  it('cannot charge for a click on Continue', async () => {
    const item = await shop().sell({ price: 0 })
    const { shown } = await shop().visit(item)
    await shown.open.click()
    await shown.balance.waitFor()
    await shop().change(item, { price: 15 })
    await shown.continue.click()
    await expect.poll(() => shown.alert.textContent()).toContain('The price has changed to 15.00 USD.')
    expect(await paidNow()).toBe(0)
    expect(await shown.continue.count()).toBe(0)
    await shown.pay.click()
    await shown.open.waitFor()
    expect(await shown.done.textContent()).toBe('Paid 15.00 USD.')
  })

  it('cannot charge for an item that is no longer for sale', async () => {
    const item = await shop().sell()
    const { page, shown, frame, told } = await shop().visit(item)
    await shown.open.click()
    await shown.balance.waitFor()
    await shop().change(item, { active: false })
    await shown.pay.click()
    await expect.poll(() => shown.alert.textContent()).toBe('This is not for sale at the moment. Nothing was charged.')
    expect([await paidNow(), await told()]).toEqual([0, []])
    await page.reload()
    await frame.getByText('This is not for sale at the moment.').waitFor()
  })

  it('cannot charge the same number in another digital quantity', async () => {
    const { digital_quantities } = (
      await shop().service.call('POST', '/_sandbox/seed', {
        body: { digital_quantities: [{ name: 'Gold coins', shortcode: 'GOLD', decimals: 2 }] },
      })
    ).body
    const item = await shop().sell()
    const { shown, frame } = await shop().visit(item)
    await shown.open.click()
    await shown.balance.waitFor()
    await shop().change(item, { dq: digital_quantities[0].dq })
    await shown.pay.click()
    await expect.poll(() => shown.alert.textContent()).toContain('The price has changed to 0.25 GOLD.')
    expect(await paidNow()).toBe(0)
    expect(await frame.locator('.price').textContent()).toBe('0.25 GOLD')
    await expect.poll(() => frame.getByText(/^BALANCE/).textContent()).toBe('BALANCE 0.00 GOLD')
  })

  it('cannot have a retry pay twice, or the new price', async () => {
    const item = await shop().sell()
    const { page, shown } = await shop().visit(item)
    await shown.open.click()
    await page.route('**/v4/payment/*', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await shown.pay.click()
    await shown.alert.waitFor()
    await page.unroute('**/v4/payment/*')
    await shop().change(item, { price: 5 })
    await page.reload()
    await shown.open.click()
    await shown.pay.click()
    await shown.open.waitFor()
    expect(await shown.done.textContent()).toBe('Paid 0.25 USD.')
    expect(await paidNow()).toBe(1)
  })
})
