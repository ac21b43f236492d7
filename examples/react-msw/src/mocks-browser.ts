import { setupWorker } from 'msw/browser'
import { createMocks } from './mocks'

/** Answers the page's requests in the browser. */
export async function start(): Promise<void> {
  const { handlers } = await createMocks()
  // MSW 3 has the first name, MSW 2 the second.
  const lenient = { onUnhandledFrame: 'bypass', onUnhandledRequest: 'bypass' } as const
  await setupWorker(...handlers).start(lenient)
}
