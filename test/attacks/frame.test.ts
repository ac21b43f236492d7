import { setTimeout as wait } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  attackedFrame,
  expectEnabled,
  holdClock,
  isEnabled,
  middleOf,
  moveClock,
  moveUntilShown,
  press,
  releaseClock,
  SETTLED_MS,
  signInAs,
  stoppable,
  type Visited,
} from '../support/browser/hostile-page.js'
import { howMuch } from '../support/how-much.js'
import { newPayback, newPersona, type Parts, parts } from '../support/scenes/journey.js'

/** Pages that want their reader to press a pay button without seeing it. */

/** A page that several tests use. */
let lasting: Page | undefined
const { shop, opened, paidNow, countFromNow } = attackedFrame({ keepOpen: () => lasting })

describe('a page that hides the frame', () => {
  /** Each by what undoes it: one of what lies over the frame, of what fades, shrinks, moves and cuts it. */
  const covers: [string, string, string][] = [
    [
      'a transparent layer that lets clicks through',
      `layer = document.createElement('div'); layer.style.cssText = 'position:fixed;inset:0;pointer-events:none;z-index:1'; document.body.append(layer)`,
      'layer.remove()',
    ],
    ['opacity', `place.style.opacity = '0.01'`, `place.style.opacity = ''`],
    ['scaling it to a pixel', `frame.style.transform = 'scale(0.002)'`, `frame.style.transform = ''`],
    ['moving it off the screen', `frame.style.left = '5000px'`, `frame.style.left = '0'`],
    ['cutting off all but the button', `frame.style.clipPath = 'inset(60% 0 0 0)'`, `frame.style.clipPath = ''`],
  ]
  const otherCovers: [string, string, string][] = [
    [
      'a small picture over the price',
      `layer = document.createElement('canvas'); layer.style.cssText = 'position:fixed;left:430px;top:340px;width:20px;height:20px;pointer-events:none;z-index:1'; document.body.append(layer)`,
      'layer.remove()',
    ],
    ['a filter', `frame.style.filter = 'brightness(99)'`, `frame.style.filter = ''`],
    ['zooming it to a pixel', `frame.style.zoom = '0.1'`, `frame.style.zoom = ''`],
    ['taking it away', `frame.style.visibility = 'hidden'`, `frame.style.visibility = ''`],
  ]

  let visited: Visited
  beforeAll(async () => {
    visited = await opened()
    lasting = visited.page
  })

  it.each(howMuch(covers, [...covers, ...otherCovers]))('cannot make its reader pay: %s', async (_, hide, undo) => {
    await expectEnabled(visited)
    const pay = await middleOf(visited)
    await visited.act(hide)
    await expectEnabled(visited, false)
    await press(visited, pay)
    await visited.page.keyboard.press('Enter')
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
    await visited.act(undo)
    await expectEnabled(visited)
  })

  it('cannot show it just before a click', async () => {
    const visited = await opened(stoppable)
    await expectEnabled(visited)
    const pay = await middleOf(visited)
    await visited.act(`place.style.opacity = '0.01'`)
    await expectEnabled(visited, false)
    await holdClock(visited)
    await visited.act(`place.style.opacity = ''`)
    for (let clicks = 0; clicks < 3; clicks++) await press(visited, pay)
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
  })

  it('cannot show the button without the price by keeping the frame small', async () => {
    const visited = await opened({ box: 'width:137px;height:48px' })
    await visited.frame.getByRole('button', { name: 'Open a new window' }).waitFor()
    expect(await isEnabled(visited)).toBe(false)
    await visited.shown.pay.click({ force: true })
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
  })

  it('cannot use a browser that tells frames less: the frame still checks size and time', async () => {
    const visited = await opened({ init: 'delete IntersectionObserverEntry.prototype.isVisible' })
    await expectEnabled(visited)
    await visited.act(`frame.style.left = '600px'`)
    await expectEnabled(visited, false)
    await visited.act(`frame.style.left = '0'; frame.style.width = '150px'`)
    await expectEnabled(visited, false)
    await visited.act(`frame.style.width = '100%'`)
    await visited.shown.pay.click({ force: true })
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
    await expectEnabled(visited)
    await visited.shown.pay.click()
    await visited.shown.open.waitFor()
    expect(await paidNow()).toBe(1)
  })
})

describe('a page that lets its reader press something else', () => {
  it('cannot pay with the click that opens the frame, however often it is repeated', async () => {
    const visited = await shop().visit(await shop().sell(), stoppable)
    await holdClock(visited)
    await visited.shown.open.click()
    await moveUntilShown(visited)
    const pay = await middleOf(visited)
    // Longer than the button would wait if nobody pressed it.
    for (let clicks = 0; clicks < 30; clicks++) {
      await press(visited, pay)
      await moveClock(visited, 100)
    }
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
  })

  it.each(
    howMuch(
      [['a little', 25] as const],
      [
        ['a little', 25],
        ['far', 200],
      ],
    ),
  )('cannot move the frame under the pointer: %s', async (_, distance) => {
    const visited = await opened({ ...stoppable, box: 'position:fixed;left:250px;top:60px;width:400px;height:600px' })
    await expectEnabled(visited)
    const [x, y] = await middleOf(visited)
    await visited.page.mouse.move(x, y - distance)
    await wait(SETTLED_MS)
    await expectEnabled(visited)
    await holdClock(visited)
    await moveClock(visited, 600)
    await visited.act(`frame.style.top = '${60 - distance}px'`)
    await wait(50)
    await visited.page.mouse.down()
    await visited.page.mouse.up()
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
  })

  it('cannot put the frame under a moving pointer', async () => {
    const visited = await opened({ ...stoppable, box: 'position:fixed;left:480px;top:60px;width:400px;height:600px' })
    await visited.page.mouse.move(100, 100)
    await expectEnabled(visited)
    const [x, y] = await middleOf(visited)
    await visited.page.mouse.move(x - 300, y)
    await holdClock(visited)
    await visited.act(`frame.style.left = '460px'`)
    await press(visited, [x, y])
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
  })

  it("cannot win by keeping the reader's machine busy: a press counts when it was made", async () => {
    const visited = await opened({ box: 'position:fixed;left:480px;top:60px;width:400px;height:600px' })
    const { page } = visited
    await page.mouse.move(100, 100)
    await expectEnabled(visited)
    const [x, y] = await middleOf(visited)
    // The frame handles the press a second after the pointer came, but it was made at once.
    await page
      .frames()
      .at(-1)
      ?.evaluate(() => {
        const busy = () => {
          for (const until = performance.now() + 1000; performance.now() < until; );
        }
        document.addEventListener('pointerover', busy, { once: true })
      })
    const input = await page.context().newCDPSession(page)
    const at = Date.now() / 1000
    const mouse = (type: 'mouseMoved' | 'mousePressed' | 'mouseReleased', ms: number) =>
      input.send('Input.dispatchMouseEvent', {
        ...{ type, x, y, timestamp: at + ms / 1000 },
        ...(type !== 'mouseMoved' && { button: 'left', clickCount: 1 }),
      })
    await Promise.all([mouse('mouseMoved', 0), mouse('mousePressed', 20), mouse('mouseReleased', 40)])
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
    await expectEnabled(visited)
  })

  it('cannot remove the frame and put it back under the pointer', async () => {
    const visited = await opened(stoppable)
    await expectEnabled(visited)
    const pay = await middleOf(visited)
    await visited.act(
      `held = frame; held.remove(); held.style.cssText = 'position:fixed;inset:0;width:100%;height:100%'; place.append(held)`,
    )
    await visited.shown.open.waitFor()
    await holdClock(visited)
    await visited.act(`frame.contentWindow.postMessage('_TQMToggle', '*')`)
    await moveUntilShown(visited)
    for (let clicks = 0; clicks < 8; clicks++) {
      await press(visited, pay)
      await moveClock(visited, 100)
    }
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
  })

  it('cannot move the focus of a typing reader into the frame', async () => {
    const visited = await shop().visit(await shop().sell(), stoppable)
    const { page, shown } = visited
    await page.getByLabel('Chat').focus()
    await holdClock(visited)
    await visited.act(`frame.contentWindow.postMessage('_TQMToggle', '*'); frame.focus()`)
    await moveUntilShown(visited)
    for (const key of ['Hello', ' ', 'you', 'Enter', ' ', 'x', 'Enter', 'y', ' ', 'Enter']) {
      if (key.length > 1 && key !== 'Enter') await page.keyboard.type(key, { delay: 60 })
      else await page.keyboard.press(key)
      await moveClock(visited, 40)
    }
    await releaseClock(visited)
    // The page opened the dialog: the button has no focus even for a slow typist.
    await expectEnabled(visited)
    await page.keyboard.press('Enter')
    await page.keyboard.press(' ')
    // It gets the focus of the frame, and the page gives it the keyboard at the last moment.
    await page.keyboard.press('Tab')
    await shown.pay.focus()
    await page.getByLabel('Chat').focus()
    await holdClock(visited)
    await visited.act('frame.focus()')
    await page.keyboard.press('Enter')
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
    await moveClock(visited, 600)
    await releaseClock(visited)
    await expectEnabled(visited)
    await shown.pay.press('Enter')
    await shown.open.waitFor()
    expect(await paidNow()).toBe(1)
  })

  it('cannot pay with a key that is held down', async () => {
    const visited = await shop().visit(await shop().sell())
    await visited.shown.open.focus()
    for (let repeats = 0; repeats < 24; repeats++) {
      await visited.page.keyboard.down('Enter')
      await wait(100)
    }
    await visited.page.keyboard.up('Enter')
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
    await expectEnabled(visited)
    await visited.page.keyboard.press('Enter')
    await visited.shown.open.waitFor()
    expect(await paidNow()).toBe(1)
  })

  it('cannot pay with a scripted click', async () => {
    const visited = await opened()
    await expectEnabled(visited)
    await visited.shown.pay.evaluate((button: HTMLButtonElement) => button.click())
    await visited.shown.pay.evaluate((button) => button.dispatchEvent(new MouseEvent('click', { bubbles: true })))
    await visited.shown.pay.evaluate((button: HTMLButtonElement) => button.form?.requestSubmit(button))
    await wait(SETTLED_MS)
    expect(await paidNow()).toBe(0)
  })

  it('cannot pay with a message, nor pretend to be the window that the frame opened', async () => {
    const visited = await opened()
    await expectEnabled(visited)
    const forged = [
      '_TQMSuccess;{"hostname":"x","nonce":"y","timestamp":1}',
      'farthing.ask',
      'farthing.answer;{"origin":"https://bank.example.test"}',
      'farthing.done;{"line":"Paid."}',
      '_TQMToggle',
      '_TQMToggle',
    ]
    for (const message of forged) await visited.act(`frame.contentWindow.postMessage('${message}', '*')`)
    await wait(SETTLED_MS)
    expect([await paidNow(), await visited.told()]).toEqual([0, []])
    expect(await visited.shown.done.textContent()).toBe('')
  })

  it('cannot make its reader consent to a hidden payback', async () => {
    const { hash } = await newPayback(shop().service.call)
    await countFromNow()
    const visited = await shop().visit({ commodity_hash: hash }, { path: 'v3/payback/embed' })
    await visited.shown.open.click()
    await visited.shown.allow.waitFor()
    await visited.act(`place.style.opacity = '0.01'`)
    await expect.poll(() => visited.shown.allow.isEnabled()).toBe(false)
    await visited.shown.allow.click({ force: true })
    await wait(SETTLED_MS)
    expect([await paidNow(), await visited.told()]).toEqual([0, []])
  })
})

describe('a page that wants to know who its reader is', () => {
  it('cannot make them reveal a delegate with a hidden frame', async () => {
    const { hash } = await newPersona(shop().service.call, { name: 'Press pass' })
    const visited = await shop().visit({ commodity_hash: hash }, { path: 'v3/verify/embed' })
    await visited.act(`frame.contentWindow.postMessage('_TQMToggle', '*')`)
    await expect.poll(() => visited.shown.verify.isEnabled()).toBe(true)
    await visited.act(`place.style.opacity = '0.01'`)
    await expect.poll(() => visited.shown.verify.isEnabled()).toBe(false)
    await visited.shown.verify.click({ force: true })
    await wait(SETTLED_MS)
    expect(await visited.told()).toEqual([])
  })
})

describe("the frame's own window", () => {
  /** A page that fades what it holds never lets the frame prove that it is seen. */
  const faded = { box: 'position:fixed;inset:0;width:100%;height:100%;opacity:0.9' }

  /** Readers sign in there for themselves, once. */
  async function enter(inside: Parts): Promise<void> {
    await inside.email.or(inside.balance).waitFor()
    if (await inside.email.isVisible()) await signInAs(inside)
  }

  async function openedWindow() {
    const visited = await opened(faded)
    const own = visited.frame.getByRole('button', { name: 'Open a new window' })
    await own.focus()
    const [page] = await Promise.all([shop().context.waitForEvent('page'), visited.page.keyboard.press('Enter')])
    const inside = parts(page as never)
    return { visited, own, page, inside }
  }

  it('lets a reader pay by keyboard while the page fades the frame, and notifies the page like the frame', async () => {
    const { visited, page, inside } = await openedWindow()
    expect(await isEnabled(visited)).toBe(false)
    await enter(inside)
    await expect.poll(() => inside.pay.isEnabled()).toBe(true)
    await Promise.all([page.waitForEvent('close'), page.keyboard.press('Enter')])
    await visited.shown.open.waitFor()
    expect(await visited.shown.done.textContent()).toBe('Paid 0.25 USD.')
    const [told, ...more] = await visited.told()
    expect(more).toEqual([])
    expect(Object.keys(JSON.parse(told?.replace('_TQMSuccess;', '') ?? '{}')).sort()).toEqual([
      ...['hostname', 'nonce', 'session', 'timestamp'],
    ])
    expect(await paidNow()).toBe(1)
  })

  it('does not pay after its page is gone', async () => {
    const { visited, page, inside } = await openedWindow()
    await enter(inside)
    await visited.act('frame.remove()')
    await inside.pay.click()
    await expect
      .poll(() => inside.alert.textContent())
      .toBe('The page that opened this window is closed. Close this window. Nothing was charged.')
    expect(await paidNow()).toBe(0)
    await Promise.all([page.waitForEvent('close'), inside.cancel.click()])
  })

  it('neither pays for a stranger who opens it nor tells them anything', async () => {
    const item = await shop().sell()
    const visited = await shop().visit(item)
    const url = `${shop().service.url}/v2/embed/${item.commodity_hash}#window`
    await visited.act(
      `heard = []; addEventListener('message', ({ data, source }) => source === frame.contentWindow || heard.push(data))`,
    )
    const [page] = await Promise.all([
      shop().context.waitForEvent('page'),
      visited.act(`opened = open('${url}', '_blank', 'popup'), 0`),
    ])
    const inside = parts(page as never)
    await visited.act(`opened.postMessage('farthing.answer;{"origin":"https://bank.example.test"}', '*')`)
    await enter(inside)
    await inside.pay.click()
    await expect.poll(() => inside.alert.textContent()).toContain('The page that opened this window is closed.')
    expect([await paidNow(), await visited.act('heard')]).toEqual([0, []])
    expect(await page.getByText('bank.example.test').count()).toBe(0)
  })
})
