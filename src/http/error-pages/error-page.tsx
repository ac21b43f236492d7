import type { VNode } from 'preact'
import { docsOf, type Problem } from '../../base/problem.js'
import { cardStyle } from '../pages/card-style.js'
import { inline, page } from '../pages/html.js'
import { Coin } from '../pages/parts.js'
import type { Reply } from '../reply.js'
import type { ExplainedError, ListedError } from './read-errors.js'

/** Longer lists of operations are closed. */
const MOST_OPERATIONS = 8

/** The page that explains an error. It needs no script. */
export function errorPage(explained: ExplainedError, service: { readonly baseUrl: string }): Reply<never> {
  const { code, status, error, docs, meaning, causes, fixes, fields, operations } = explained
  return documentReply(
    `${code} · farthing`,
    <main>
      <Coin />
      <p class="kicker">
        HTTP {status} {statusNames[status]}
      </p>
      <h1>{code}</h1>
      <p class="lead">
        <Prose text={error} />
      </p>
      <Part heading="What it means">
        <p>
          <Prose text={meaning} />
        </p>
      </Part>
      <Points heading="Usual causes" items={causes} />
      <Points heading="How to fix it" items={fixes} />
      <Part heading="The body">
        <pre>{JSON.stringify({ error, status, code, docs }, null, 2)}</pre>
        <p class="muted">
          The sentence in <code>error</code> may end with a detail. Programs read <code>code</code>, which is stable.
        </p>
        {fields.length > 0 && (
          <dl aria-label="Fields that this error may add">
            {fields.map(({ name, type, description }) => (
              <div>
                <dt>
                  <code>{name}</code> <span class="muted">{type}</span>
                </dt>
                <dd>
                  <Prose text={description} />
                </dd>
              </div>
            ))}
          </dl>
        )}
      </Part>
      {operations.length > 0 && <Operations operations={operations} />}
      <nav>
        <a href={docsOf(undefined, service)}>All errors</a>
      </nav>
    </main>,
  )
}

/** The page that lists all errors by their status. */
export function errorListPage(errors: readonly ListedError[]): Reply<never> {
  const statuses = [...new Set(errors.map(({ status }) => status))]
  return documentReply(
    'Errors · farthing',
    <main>
      <Coin />
      <h1 class="words">Errors</h1>
      <p>
        Every error has a stable <code>code</code>. Each has a page that says what it means, its usual causes, and how
        to fix it.
      </p>
      {statuses.map((status) => (
        <Part heading={`${status} ${statusNames[status] ?? ''}`}>
          <dl>
            {errors
              .filter((each) => each.status === status)
              .map(({ code, docs, error }) => (
                <div>
                  <dt>
                    <a href={docs}>
                      <code>{code}</code>
                    </a>
                  </dt>
                  <dd>
                    <Prose text={error} />
                  </dd>
                </div>
              ))}
          </dl>
        </Part>
      ))}
    </main>,
  )
}

/** The page for a code that does not exist. */
export const unknownErrorPage = ({ message, status }: Problem, service: { readonly baseUrl: string }): Reply<never> =>
  documentReply(
    'No such error · farthing',
    <main>
      <Coin />
      <h1 class="words">No such error</h1>
      <p role="alert">{message}</p>
      <nav>
        <a href={docsOf(undefined, service)}>All errors</a>
      </nav>
    </main>,
    status,
  )

const documentReply = (title: string, body: VNode, status?: number): Reply<never> =>
  page({ title, body, styles: [cardStyle, errorStyle], ...(status !== undefined && { status }) })

const Part = ({ heading, children }: { heading: string; children: (VNode | false)[] | VNode }) => (
  <section>
    <h2>{heading}</h2>
    {children}
  </section>
)

const Points = ({ heading, items }: { heading: string; items: readonly string[] }) =>
  items.length === 0 ? null : (
    <Part heading={heading}>
      <ul>
        {items.map((item) => (
          <li>
            <Prose text={item} />
          </li>
        ))}
      </ul>
    </Part>
  )

const Operations = ({ operations }: Pick<ExplainedError, 'operations'>) => {
  const list = (
    <ul class="plain">
      {operations.map(({ id, method, path }) => (
        <li>
          {id} <code>{`${method} ${path}`}</code>
        </li>
      ))}
    </ul>
  )
  return (
    <Part heading="Operations that answer with it">
      {operations.length <= MOST_OPERATIONS ? (
        list
      ) : (
        <details>
          <summary>{operations.length} operations</summary>
          {list}
        </details>
      )}
    </Part>
  )
}

/** A text in which backticks mark code. */
const Prose = ({ text }: { text: string }) => (
  <>{text.split('`').map((part, place) => (place % 2 === 1 ? <code>{part}</code> : part))}</>
)

/** The names of HTTP statuses (RFC 9110). */
const statusNames: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
}

/** The looks of the pages that explain errors, beside `cardStyle`. */
const errorStyle = inline(`
main { width: min(720px, 100%); padding: 40px; }
h1 { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 26px; letter-spacing: 0; }
h1.words { font-family: inherit; }
.kicker { color: var(--muted); font-size: 14px; }
.kicker + h1 { margin-top: 4px; }
main > .coin + * { margin-top: 12px; }
h1 ~ p, h1 ~ ul { margin-top: 12px; }
.lead { font-size: 18px; }
h2 { margin-top: 32px; font-size: 16px; font-weight: 650; }
h2 ~ p, h2 ~ ul { margin-top: 8px; }
ul { padding-left: 20px; }
li + li { margin-top: 8px; }
code {
  padding: 1px 5px; border-radius: 5px; background: color-mix(in oklab, var(--card), var(--text) 7%);
  font: .9em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere;
}
a { color: inherit; text-underline-offset: 3px; }
dl { margin-top: 8px; border-top: 1px solid var(--line); }
dl > div { padding: 10px 0; border-bottom: 1px solid var(--line); }
dt { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: baseline; }
dd { margin: 2px 0 0; }
.muted { font-size: 14px; }
pre {
  margin-top: 8px; padding: 12px 14px; border: 1px solid var(--line); border-radius: 10px;
  font: 14px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
}
details { margin-top: 8px; }
summary { min-height: 32px; padding: 4px 0; cursor: pointer; }
.plain { padding: 0; list-style: none; }
nav { margin-top: 32px; padding-top: 16px; border-top: 1px solid var(--line); font-size: 14px; }
@media (max-width: 480px) { body { padding: 0; place-items: stretch; } main { padding: 24px 20px; border: 0; border-radius: 0; } }
`)
