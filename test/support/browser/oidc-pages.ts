import type { Locator, Page } from 'playwright-core'
import type { Call } from '../api.js'
import { CHALLENGE, newApp } from '../scenes/oidc.js'

/** Steps of people who connect an app through the pages. */

/** An app whose callback is a site of its own, and the address that connects it. */
export async function newConnection(
  call: Call,
  url: string,
  callback: string,
  parameters: Record<string, string> = {},
) {
  const app = await newApp(call, { redirect_uris: [callback], client_name: 'Errand Runner' })
  const query = new URLSearchParams({
    ...{ client_id: app.id, redirect_uri: callback, response_type: 'code', scope: 'openid email offline_access' },
    ...{ state: 'a state', code_challenge: CHALLENGE, code_challenge_method: 'S256', ...parameters },
  })
  return { app, address: `${url}/v4/oidc/auth?${query}` }
}

/** Waits until what is typed reaches a field of the page: one that is visible may not have the focus yet. Needs no script. */
export const untilFocused = (field: Locator): Promise<void> => field.and(field.page().locator(':focus')).waitFor()

/** Moves by Tab until an element has the focus, as people do who use no mouse. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let i = 0; i < 20; i++) {
    const focused = await page.evaluate('document.activeElement?.textContent?.trim() || document.activeElement?.id')
    if (focused === name) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not come to ${name}`)
}
