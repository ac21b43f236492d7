export interface Recipe {
  readonly help: string
  readonly files: () => Promise<{ readonly default: Readonly<Record<string, string>> }>
}

/** The projects of `examples/` that `farthing init` writes, by the flag that asks for each. */
export const recipes: Readonly<Record<string, Recipe>> = {
  '--express': {
    help: 'write an Express router that sells articles, and its test',
    files: () => import('../../examples/express?files'),
  },
  '--hono': {
    help: 'write a worker-style module with Hono that sells articles, and its test',
    files: () => import('../../examples/hono?files'),
  },
  '--next': {
    help: 'write a Next.js site that sells articles, and its test',
    files: () => import('../../examples/next?files'),
  },
  '--vite-sw': {
    help: 'write a shop that works offline, with a worker that Vite builds, and its test',
    files: () => import('../../examples/offline-shop?files'),
  },
  '--playwright': {
    help: 'write a page that takes payments, and its test with Playwright',
    files: () => import('../../examples/playwright?files'),
  },
}
