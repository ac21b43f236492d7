/** Where farthing runs. `test/package/` runs each version that is named here, and the page of the reference lists them. */

export interface Platform {
  /** What its makers call it. */
  readonly name: string
  /** Ranges of npm. Each is installed and run. */
  readonly versions: readonly string[]
  /** What users need to know to run farthing there. */
  readonly note?: string
}

/** A group is tested by one file, which says how for each of its platforms. */
export const platforms = {
  runtimes: {
    node: { name: 'Node', versions: ['20', '22', '24', '26'], note: 'From 20.19 on.' },
    bun: { name: 'Bun', versions: ['1.4'] },
    deno: {
      name: 'Deno',
      versions: ['2.9'],
      note: 'A server needs `--allow-net`, and [file storage](options.md#filestorage) `--allow-read` and `--allow-write` for its folder. With `--allow-sys=hostname --allow-run` as well, it opens again by itself after its process was killed.',
    },
    workerd: {
      name: 'workerd, under Wrangler',
      versions: ['4'],
      note: 'Without `nodejs_compat`. Create the service with the first request: workerd has no random numbers before it. Wrangler adds headers of proxies to each request, so `/_sandbox` needs [the control token](../guides/reach.md).',
    },
    edge: { name: 'edge-runtime', versions: ['4'], note: 'As one script that a bundler made.' },
  },
  servers: {
    next: {
      name: 'Next',
      versions: ['16'],
      note: '[In a route handler](../guides/next.md#the-sandbox-in-the-same-server).',
    },
    express: { name: 'Express', versions: ['5'] },
    fastify: { name: 'Fastify', versions: ['5'] },
    hono: { name: 'Hono', versions: ['4'] },
    reactRouter: { name: 'React Router', versions: ['7'] },
    svelteKit: {
      name: 'SvelteKit',
      versions: ['3'],
      note: "Its own check of `POST` refuses callers that send no `Origin`, as most that are no browser: `csrf: { trustedOrigins: ['*'] }`.",
    },
    nuxt: { name: 'Nuxt', versions: ['4'] },
    astro: {
      name: 'Astro',
      versions: ['7'],
      note: 'Its own check of `POST` refuses callers that send no `Origin`, as most that are no browser: `security: { checkOrigin: false }`.',
    },
  },
  bundlers: {
    esbuild: { name: 'esbuild', versions: ['0.28'] },
    vite: { name: 'Vite', versions: ['7', '8'] },
    webpack: { name: 'webpack', versions: ['5'] },
    rspack: { name: 'Rspack', versions: ['2'] },
  },
  packageManagers: {
    npm: { name: 'npm', versions: ['10', '11'] },
    pnpm: { name: 'pnpm', versions: ['12'] },
    yarn: { name: 'Yarn', versions: ['1', '4'], note: "Yarn 4 with Plug'n'Play." },
    bun: { name: 'bun install', versions: ['1.4'] },
  },
  testRunners: {
    vitest: { name: 'Vitest', versions: ['4', '5'] },
    jest: {
      name: 'Jest',
      versions: ['30'],
      note: '[In an environment with jsdom](../guides/front-end-tests.md#jest).',
    },
  },
  mocks: {
    msw: {
      name: 'MSW',
      versions: ['2.7', '2.12', '2.15', '3.0'],
      note: "In Vitest with Node, happy-dom, and jsdom with Node's `fetch`, and in Jest. MSW 3 needs Node 22.12, and has [rules of its own](../guides/front-end-tests.md#msw-3).",
    },
  },
  compilers: {
    typescript: { name: 'TypeScript', versions: ['5.4', '5.5', '5.6', '5.7', '5.8', '5.9', '6.0', '7.0'] },
  },
  browsers: {
    chromium: { name: 'Chromium', versions: ['current'] },
    firefox: { name: 'Firefox', versions: ['ESR'] },
    webkit: { name: 'WebKitGTK', versions: ['2'] },
  },
  databases: {
    postgresql: { name: 'PostgreSQL', versions: ['15', '18'] },
  },
} satisfies Record<string, Record<string, Platform>>

export type PlatformGroup = keyof typeof platforms
