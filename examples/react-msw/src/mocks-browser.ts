import { setupWorker } from 'msw/browser'
import { createMocks } from './mocks'

/** Answers the page's requests in the browser. */
export async function start(): Promise<void> {
  const { handlers } = await createMocks()
  await setupWorker(...handlers).start({ onUnhandledRequest: 'bypass' })
}
