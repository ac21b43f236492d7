import { Problem } from '../../base/problem.js'
import { hopsIn } from '../../base/via.js'
import type { Writer } from '../../storage/storage.js'
import type { CallSource, ServiceContext } from '../context.js'
import { z } from '../fields/schema.js'
import { type Reply, seeOther } from '../reply.js'
import type { Call } from '../route.js'
import { type FormPage, formPage } from './form-page.js'
import { refusedBy, wantsPage } from './html.js'

/** Who is at a page, and how they came to it. */
export interface Visitor {
  readonly sessionId: string
  /** The user who is signed in; null for anybody else. */
  readonly userId: number | null
  /** How many upstream calls the request has come through. */
  readonly hops: number
  readonly source: CallSource
  /** The step that a link of the page names; anybody can write another. */
  readonly step?: string | undefined
  /** The email that was filled in, and refused. */
  readonly email?: string | undefined
  /** Why the last answer was refused, here or on the visitor's device. */
  readonly refused?: Problem | undefined
}

/** `P`: the parameters of the page's path. */
export type Visit<P> = P & Visitor

interface ShownStep {
  readonly step: string
  readonly refused?: Problem | undefined
  /** The session that the visitor goes on with. */
  readonly session?: string | undefined
}

/** Leads to `location`, else to the flow's own page, at `step` where it is given; `session` is the one that the visitor goes on with. */
export class Next {
  readonly location?: string | undefined
  readonly step?: string | undefined
  readonly session?: string | undefined

  constructor(parts: Partial<Pick<Next, 'location' | 'step' | 'session'>> = {}) {
    Object.assign(this, parts)
  }

  /** The same, for the session that the visitor goes on with. */
  as(session: string): Next {
    return new Next({ ...this, session })
  }
}

/** What the page of a step depends on, beside what it shows. */
export interface View {
  readonly isRefused: boolean
  /** The outbox's address, as seen from the page, where the service is a sandbox. */
  readonly outbox: string | undefined
  /** Seconds until a page that waits looks again. A refusal stays until the visitor goes on. */
  readonly poll: number | undefined
}

/** Typed as a method's, so that the page of one step can stand among those of all. */
type PageOf<S> = { page(shown: S, view: View): FormPage }['page']
export type At<S, K> = S extends { readonly step: infer Step } ? (K extends Step ? S : never) : never

export type Pages<S extends { readonly step: string }> = {
  readonly [K in S['step']]: PageOf<At<S, K>>
}

/** Does what a button says. A problem shows the page again, with what was filled in. */
type Answer<P, F, S> = (tx: Writer, visit: Visit<P>, filled: F, service: ServiceContext) => Promise<S | Next | Problem>

/** The same, in transactions of its own: it waits for others between them. */
interface Handling<P, F, S> {
  handle(visit: Visit<P>, filled: F, service: ServiceContext): Promise<S | Next | Problem>
}

/**
 * A form in steps, for browsers without a script. GET shows the step that the visitor is at. POST takes an answer and redirects, so
 * that each step has an address that can be opened again. `F`: the fields that are filled in; `S`: what is shown, by `step`.
 */
export interface FormFlow<P, F, S extends ShownStep, A extends string> {
  readonly path: `/${string}`
  readonly versions?: readonly ['v4']
  /** Throws where there is nothing at the address, before anything else is done. */
  check?(tx: Writer, visit: Visit<P>, service: ServiceContext): Promise<unknown>
  /** Whether the visitor's device has signed them in since, or why not. */
  signedIn?(tx: Writer, visit: Visit<P>, service: ServiceContext): Promise<Next | Problem | undefined>
  /** Where the visitor is. Throws what has no page of its own. */
  look(tx: Writer, visit: Visit<P>, service: ServiceContext): Promise<S | Next>
  readonly pages: Pages<S>
  /** By the buttons' names. */
  readonly answers: Readonly<Record<A, Answer<P, F, S> | Handling<P, F, S>>>
  /** The step that shows what was wrong with an answer. */
  refusedAt?(answer: A, visit: Visit<P>): string | undefined
  /** What people are told in place of the sentence for programs. */
  sentence?(refused: Problem, shown?: S): string | undefined
  /** Of the page that stands in place of one that cannot be shown. */
  refusedTitle?(refused: Problem): string
}

type Parameters = Readonly<Record<string, string>>
type PageCall<P, B = unknown> = Call<P, { readonly step?: string | undefined }, B, 'guest'>
type AnswerCall<P, F, A> = PageCall<P, F & { readonly answer: A; readonly email?: string | undefined }>

/** Runs work over the transaction of the call, or over one of its own. */
type Transact = <T>(work: (tx: Writer) => Promise<T>) => Promise<T>

/** The routes of a flow: what they have in common, and their handlers. */
export function formFlow<P extends Parameters, F, S extends ShownStep, A extends string>(flow: FormFlow<P, F, S, A>) {
  const { path, versions, answers } = flow
  const shown = new ShownFlow(flow)
  return {
    page: {
      evidence: 'designed',
      path,
      ...(versions && { versions }),
      auth: ['guest'],
      query: z.object({ step: z.optional(z.string()) }),
      produces: ['text/html'],
      refused: refusedBy((refused) => shown.refusal(refused)),
    },
    answers: Object.keys(answers) as A[], // `keys` gives any strings.
    /** GET. What was refused is given, not thrown: it undoes nothing. */
    open: (tx: Writer, call: PageCall<P>, service: ServiceContext) => shown.open(tx, call, service),
    /** POST, in one transaction. */
    answer: (tx: Writer, call: AnswerCall<P, F, A>, service: ServiceContext) =>
      shown.take(call, service, (work) => work(tx)),
    /** POST, each part in a transaction of its own. */
    async handle(call: AnswerCall<P, F, A>, service: ServiceContext): Promise<Reply> {
      const answered = await shown.take(call, service, (work) => service.storage.write(work))
      if (answered instanceof Problem) throw answered
      return answered
    },
  } as const
}

/** Shows the steps of a flow, and takes its answers. */
class ShownFlow<P extends Parameters, F, S extends ShownStep, A extends string> {
  constructor(readonly flow: FormFlow<P, F, S, A>) {}

  /** The path with its version. */
  get #path(): string {
    const { versions, path } = this.flow
    return versions ? `/${versions[0]}${path}` : path
  }

  refusal(refused: Problem): Reply {
    const title = this.flow.refusedTitle?.(refused) ?? 'This cannot go on'
    return formPage({ title, alert: this.#sentence(refused), refused })
  }

  async open(tx: Writer, call: PageCall<P>, service: ServiceContext): Promise<Reply | Problem> {
    const flow = this.flow
    const visit = visitOf(call)
    await flow.check?.(tx, visit, service)
    const since = await flow.signedIn?.(tx, visit, service)
    if (since instanceof Next) return this.#show(since, undefined, call, service)
    if (since && !wantsPage(call.headers)) return since
    const shown = await flow.look(tx, { ...visit, refused: since }, service)
    return this.#show(shown, since ?? ('refused' in shown ? shown.refused : undefined), call, service)
  }

  async take(call: AnswerCall<P, F, A>, service: ServiceContext, transact: Transact): Promise<Reply | Problem> {
    const flow = this.flow
    const { body } = call
    const visit = visitOf(call)
    const answer = flow.answers[body.answer]
    const taken =
      typeof answer === 'function'
        ? await transact(async (tx) => {
            await flow.check?.(tx, visit, service)
            return answer(tx, visit, body, service)
          })
        : await answer.handle(visit, body, service)
    if (taken instanceof Next) return this.#show(taken, undefined, call, service)
    if (!(taken instanceof Problem))
      return this.#show(taken.refused ? taken : new Next({ session: taken.session }), taken.refused, call, service)
    // Programs are told it as everywhere.
    if (!wantsPage(call.headers)) return taken
    const again = { ...visit, step: flow.refusedAt?.(body.answer, visit), email: body.email, refused: taken }
    return this.#show(await transact((tx) => flow.look(tx, again, service)), taken, call, service)
  }

  #show(
    shown: S | Next,
    refused: Problem | undefined,
    { params, headers }: PageCall<P>,
    service: ServiceContext,
  ): Reply | Problem {
    if (shown instanceof Next) return seeOther(this.#addressOf(shown, params, service), shown)
    if (refused && !wantsPage(headers)) return refused
    const isRefused = refused !== undefined
    const outbox = `${'../'.repeat(this.#path.split('/').length - 2)}_sandbox/outbox`
    const view = { isRefused, outbox: service.sandbox && outbox, poll: isRefused ? undefined : POLL }
    const alert = refused && this.#sentence(refused, shown)
    const step: S['step'] = shown.step
    const pageOf: PageOf<S> = this.flow.pages[step]
    return formPage({ alert, ...pageOf(shown, view), refused, session: shown.session })
  }

  #addressOf({ location, step }: Next, params: P, { baseUrl }: ServiceContext): string {
    return location ?? `${baseUrl}${filledPath(this.#path, params)}${step === undefined ? '' : `?step=${step}`}`
  }

  #sentence(refused: Problem, shown?: S): string {
    return this.flow.sentence?.(refused, shown) ?? fieldSentence(refused) ?? refused.message
  }
}

/** Seconds between looks whether a device has answered. */
const POLL = 2

const visitOf = <P>({ params, query, session, principal, headers, source }: PageCall<P>): Visit<P> => ({
  ...params,
  step: query.step,
  sessionId: session.id,
  userId: principal.user_id,
  hops: hopsIn(headers),
  source,
})

const filledPath = (path: string, params: Parameters): string =>
  path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))

const fieldSentences: Readonly<Record<string, string>> = {
  email: 'Enter an email address, such as ada@example.test.',
  account: 'Pick one of the accounts, or none.',
  payment_method_id: 'Pick a card.',
}

const fieldSentence = ({ code, fields }: Problem): string | undefined =>
  code === 'field_invalid' ? fieldSentences[String(fields.field)] : undefined
