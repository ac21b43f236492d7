import { type Member, membersOf, memberTable } from './interfaces.js'
import { page } from './markdown.js'

interface OptionGroup {
  readonly title: string
  readonly from: string
  readonly intro: string
  readonly options: readonly Member[]
}

/** The options of every function that takes some, from the docstrings of their types. */
export const optionGroups = (): OptionGroup[] => [
  {
    title: 'createService',
    from: 'farthing',
    intro:
      'Every option has a default. `createService` of `farthing/core` is the same for browsers and workers, but needs a `storage`. That of `farthing/slim` also has no `parts`.',
    options: membersOf('src/composition/assembly-options.ts', 'AssemblyOptions'),
  },
  {
    title: 'limits',
    from: 'farthing',
    intro:
      'The option `limits` of `createService` sets any of these. [Retention](../retention.md) explains those of days and of the outbox, and [Who bears what](../limits.md) `newPerDay`.',
    options: [
      ...membersOf('src/http/limits.ts', 'Limits'),
      ...membersOf('src/storage/retention.ts', 'RetentionLimits'),
      ...membersOf('src/storage/growth.ts', 'GrowthLimits'),
    ],
  },
  {
    title: 'client',
    from: 'farthing/client',
    intro:
      '`client(service, options)` or `client(url, options)` returns a client with every operation: `createPayment` is `payments.create`. `.as(credentials)` says who calls.',
    options: membersOf('adapters/client.ts', 'ClientOptions'),
  },
  {
    title: 'A call of the client',
    from: 'farthing/client',
    intro:
      'Each operation takes its path parameters in order, then one object with the fields of query and body, then these options. A refusal is thrown as a `Refusal` with `code`, `status` and the fields of the code. `payments.create.try(…)` returns it instead. A list is awaited for its first page, or iterated with `for await`.',
    options: membersOf('adapters/client/interface.ts', 'CallOptions'),
  },
  {
    title: 'serve',
    from: 'farthing/node',
    intro:
      '`await serve(service, options)` serves a service over HTTP. Pass a function to create the service from the address: `serve((baseUrl) => createService({ baseUrl }), { port: 0 })`.',
    options: membersOf('adapters/node.ts', 'ServeOptions'),
  },
  {
    title: 'nodeUpstream',
    from: 'farthing/node',
    intro:
      'For the option `upstream`. It checks every address that a name resolves to, and connects to the checked one.',
    options: membersOf('adapters/node/upstream.ts', 'NodeUpstreamOptions'),
  },
  {
    title: 'nodeFonts',
    from: 'farthing/node',
    intro: 'For the option `fonts`. It finds the fonts of PDF invoices.',
    options: membersOf('adapters/node/fonts.ts', 'NodeFontsOptions'),
  },
  {
    title: 'handlers',
    from: 'farthing/msw',
    intro: "`handlers(service, options)` returns handlers for MSW's `setupServer` and `setupWorker`.",
    options: membersOf('adapters/msw.ts', 'HandlersOptions'),
  },
  {
    title: 'farthingTest',
    from: 'farthing/vitest` and `farthing/playwright',
    intro:
      '`farthingTest(options)` returns the `test` of Vitest or Playwright, with a service for each test. It also takes the options of `createService`, but for `storage`, `sandbox` and `journal`. [Vitest](../guides/vitest.md) takes `msw`, [Playwright](../guides/playwright.md) takes `port`.',
    options: [
      ...membersOf('adapters/testing/seeded-service.ts', 'SeededServiceOptions'),
      ...membersOf('adapters/vitest.ts', 'FarthingTestOptions'),
      ...membersOf('adapters/playwright.ts', 'FarthingTestOptions'),
    ],
  },
  {
    title: 'fire',
    from: 'farthing/service-worker',
    intro:
      '`fire(service, options)` answers the requests of a service worker. `handle(service, options)` returns only a listener for its fetch events. It takes all of these but `precache`.',
    options: [
      ...membersOf('adapters/service-worker.ts', 'HandleOptions'),
      ...membersOf('adapters/service-worker.ts', 'FireOptions'),
    ],
  },
  {
    title: 'register',
    from: 'farthing/service-worker',
    intro:
      '`await register(url, options)` installs a worker from a page. It also takes the options of `navigator.serviceWorker.register`.',
    options: membersOf('adapters/service-worker/register.ts', 'RegisterOptions'),
  },
  {
    title: 'memoryStorage',
    from: 'farthing/storage/memory',
    intro: 'For the option `storage`. The state ends with the process.',
    options: membersOf('adapters/storage/memory.ts', 'MemoryStorageOptions'),
  },
  {
    title: 'fileStorage',
    from: 'farthing/storage/file',
    intro:
      'For the option `storage`: `await fileStorage({ file })`. [Keeping state safe](../guides/keeping-state-safe.md) explains its files.',
    options: membersOf('adapters/storage/file.ts', 'FileStorageOptions'),
  },
  {
    title: 'indexedDbStorage',
    from: 'farthing/storage/indexeddb',
    intro: 'For the option `storage`, in browsers and workers.',
    options: membersOf('adapters/storage/indexeddb.ts', 'IndexedDbOptions'),
  },
  {
    title: 'rehearse',
    from: 'farthing/rehearse',
    intro: '`rehearse(service, run, options)` [runs an application under faults](../guides/rehearse.md).',
    options: [
      ...membersOf('src/sandbox/rehearse/rehearse.ts', 'RehearseOptions'),
      ...membersOf('src/sandbox/rehearse/rehearse-stage.ts', 'RehearsalOptions'),
    ],
  },
  {
    title: 'openTelemetryTracer',
    from: 'farthing/opentelemetry',
    intro: 'For the option `tracer`. It needs the package `@opentelemetry/api`.',
    options: membersOf('adapters/opentelemetry.ts', 'OpenTelemetryOptions'),
  },
  {
    title: 'postgresStorage',
    from: 'farthing/storage/postgres',
    intro:
      'For the option `storage`: `await postgresStorage({ url })`. It needs the package `postgres`. [PostgreSQL](../guides/postgresql.md) says what many processes may expect of it.',
    options: membersOf('adapters/storage/postgres.ts', 'PostgresStorageOptions'),
  },
  {
    title: 'smtpMailer',
    from: 'farthing/smtp',
    intro: 'For the option `mailer`. It needs the package `nodemailer`.',
    options: membersOf('adapters/smtp.ts', 'SmtpOptions'),
  },
  {
    title: 'stripeCards',
    from: 'farthing/stripe',
    intro: 'For the option `cards`. It needs the package `stripe`.',
    options: membersOf('adapters/stripe.ts', 'StripeOptions'),
  },
]

/** The page of options. `storage` may be left out of `createService` of `farthing`. */
export const optionsPage = (): string =>
  page(
    '# Options',
    'A misspelled option is an error with the right name: `"sandbx" is not an option of createService. Did you mean "sandbox"?`',
    optionGroups().flatMap(({ title, from, intro, options }) => [
      `## ${title}`,
      `From \`${from}\`. ${intro}`,
      ...memberTable('option', options),
    ]),
  )
