import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import type { platforms } from '../../scripts/platforms.js'
import { blocksOf } from '../support/docs/markdown.js'
import { nodeOf, payAtServer, platformTests, shopProject, versionOf, withNode } from './platforms/platform-tests.js'

/** Each server has the sandbox below `/pay`, as its own build and its own command run it. */

interface Server {
  /** The first one has the version of the platform, unless it names one. */
  readonly packages: readonly string[]
  readonly files: Readonly<Record<string, string>>
  /** Arguments of Node. */
  readonly build?: readonly string[]
  readonly start: readonly string[]
  /** Whether it ends by itself on SIGTERM. Others let the signal end them. */
  readonly closes?: boolean
}

const SERVICE = `
import { createService } from 'farthing'

// One for each process, however many modules a bundler makes of this one.
export const service = () => (globalThis.farthing ??= createService({ baseUrl: process.env.PAY_URL, sandbox: true }))

/** For servers that have no Request: the answer to one of Node. */
export async function answer({ method, url, headers, body }) {
  const init = { method, headers: Object.entries(headers), ...(body && { body }) }
  const response = await service().fetch(new Request(new URL(url, process.env.PAY_URL), init))
  return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
}
`
const PASS_ON = `
const passOn = ({ request }) => service().fetch(request)
`

/** The block of the guide, with the address of the test. */
const NEXT_ROUTE = Object.fromEntries(
  blocksOf('docs/guides/next.md')
    .filter(({ testedBy }) => testedBy)
    .map(({ title = '', text }) => [title, text.replace("'http://127.0.0.1:3000/pay'", 'process.env.PAY_URL')]),
)

const servers: Record<keyof (typeof platforms)['servers'], Server> = {
  next: {
    packages: ['next', 'react@19', 'react-dom@19'],
    files: {
      'app/layout.jsx': 'export default ({ children }) => <html><body>{children}</body></html>\n',
      ...NEXT_ROUTE,
    },
    build: ['node_modules/next/dist/bin/next', 'build'],
    start: ['node_modules/next/dist/bin/next', 'start', '--hostname', '127.0.0.1'],
  },
  express: {
    packages: ['express'],
    files: {
      'server.mjs': `
import express from 'express'
import { answer } from '../../sandbox/phone/screen.js'

const app = express().use(express.text({ type: () => true }))
app.all('/pay/*path', async (request, response) => {
  const { method, originalUrl: url, headers, body } = request
  const sent = await answer({ method, url, headers, body })
  response.status(sent.status).set(sent.headers).send(sent.body)
})
const server = app.listen(process.env.PORT, '127.0.0.1')
process.once('SIGTERM', () => server.close(() => service().close()))
`,
    },
    start: ['server.mjs'],
    closes: true,
  },
  fastify: {
    packages: ['fastify'],
    files: {
      'server.mjs': `
import fastify from 'fastify'
import { answer } from '../../sandbox/phone/screen.js'

const app = fastify()
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'string' }, async (request, body) => body)
app.all('/pay/*', async (request, reply) => {
  const sent = await answer(request)
  return reply.code(sent.status).headers(sent.headers).send(sent.body)
})
app.addHook('onClose', () => service().close())
process.once('SIGTERM', () => app.close())
await app.listen({ port: process.env.PORT, host: '127.0.0.1' })
`,
    },
    start: ['server.mjs'],
    closes: true,
  },
  hono: {
    packages: ['hono', '@hono/node-server@2'],
    files: {
      'server.mjs': `
import { serve } from '@hono/node-server'
import { Hono } from 'hono'


const app = new Hono().all('/pay/*', (context) => service().fetch(context.req.raw))
const server = serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' })
process.once('SIGTERM', () => server.close(() => service().close()))
`,
    },
    start: ['server.mjs'],
    closes: true,
  },
  reactRouter: {
    // The first brings what fits to it.
    packages: ['@react-router/serve', '@react-router/dev@7', 'react@19', 'react-dom@19', 'isbot@5', 'vite@7'],
    files: {
      'vite.config.js': `import { reactRouter } from '@react-router/dev/vite'\nexport default { plugins: [reactRouter()] }\n`,
      'app/root.jsx': `import { Outlet } from 'react-router'\nexport default () => <html><body><Outlet /></body></html>\n`,
      // Without one, it looks for a package of the same version in package.json.
      'app/entry.server.jsx': `
import { renderToString } from 'react-dom/server'
import { ServerRouter } from 'react-router'
export default (request, status, headers, context) =>
  new Response(renderToString(<ServerRouter context={context} url={request.url} />), { status, headers })
`,
      'app/routes.js': `import { route } from '@react-router/dev/routes'\nexport default [route('pay/*', 'routes/pay.js')]\n`,
      'app/routes/pay.js': `${PASS_ON}export { passOn as action, passOn as loader }\n`,
    },
    build: ['node_modules/@react-router/dev/bin.js', 'build'],
    start: ['node_modules/@react-router/serve/bin.js', 'build/server/index.js'],
  },
  svelteKit: {
    packages: ['@sveltejs/kit', '@sveltejs/adapter-node@6', '@sveltejs/vite-plugin-svelte@7', 'svelte@5', 'vite@8'],
    files: {
      'vite.config.js': `
import adapter from '@sveltejs/adapter-node'
import { sveltekit } from '@sveltejs/kit/vite'
// Its check of POST refuses callers that send no Origin.
export default { plugins: [sveltekit({ adapter: adapter(), csrf: { trustedOrigins: ['*'] } })] }
`,
      'src/app.html': '<html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>\n',
      'src/routes/pay/[...path]/+server.js': `${PASS_ON.replace('../../', '../../../../')}export { passOn as fallback }\n`,
    },
    build: ['node_modules/vite/bin/vite.js', 'build'],
    start: ['build/index.js'],
    closes: true,
  },
  nuxt: {
    packages: ['nuxt'],
    files: {
      'nuxt.config.mjs': `export default { compatibilityDate: '2026-01-01', telemetry: false }\n`,
      'app/app.vue': '<template><p>A shop</p></template>\n',
      'server/routes/pay/[...path].ts': `

export default defineEventHandler((event) => service().fetch(toWebRequest(event)))
`,
    },
    build: ['node_modules/nuxt/bin/nuxt.mjs', 'build'],
    start: ['.output/server/index.mjs'],
  },
  astro: {
    packages: ['astro', '@astrojs/node@11'],
    files: {
      'astro.config.mjs': `
import node from '@astrojs/node'
// Its check of POST refuses callers that send no Origin.
export default { output: 'server', adapter: node({ mode: 'standalone' }), security: { checkOrigin: false } }
`,
      'src/pages/pay/[...path].js': `${PASS_ON.replace('../../', '../../../')}export { passOn as ALL }\n`,
    },
    build: ['node_modules/astro/bin/astro.mjs', 'build'],
    start: ['dist/server/entry.mjs'],
  },
}

platformTests(
  'servers',
  Object.fromEntries(
    Object.entries(servers).map(([id, { packages, files, build, start, closes = false }]) => [
      id,
      async ({ context, version }) => {
        const [main = '', ...others] = packages
        const shop = await shopProject(context, [`${main}@${version}`, ...others])
        for (const [path, text] of Object.entries({ 'service.mjs': SERVICE, ...files })) {
          await mkdir(dirname(join(shop.folder, path)), { recursive: true })
          await writeFile(join(shop.folder, path), text)
        }
        const node = await nodeOf(context, '22')
        const telemetry = { ASTRO_TELEMETRY_DISABLED: '1', NEXT_TELEMETRY_DISABLED: '1' }
        const env = { ...withNode(node), ...telemetry }
        // A build imports the service too, and has no address yet.
        if (build) await shop.run([node, ...build], { ...env, PAY_URL: 'http://127.0.0.1:3000/pay' })
        const { code, output } = await payAtServer(shop, {
          command: () => [node, ...start],
          env: (port, url) => ({ ...env, PAY_URL: url, HOST: '127.0.0.1', PORT: port }),
          path: '/pay',
        })
        if (closes) expect(code, output).toBe(0)
        return versionOf(shop, main)
      },
    ]),
  ) as Parameters<typeof platformTests<'servers'>>[1], // `servers` has each name.
)
