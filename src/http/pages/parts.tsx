import type { ComponentChildren, VNode } from 'preact'

/** The parts that pages of forms are made of; `formStyle` says how they look. */

/** The service checks what was filled in, and says what is wrong in its own words. */
export const Form = ({ children }: { children: ComponentChildren }) => (
  <form method="post" novalidate>
    {children}
  </form>
)

/** The buttons of a form. Enter presses the first. */
export const Actions = ({ children }: { children: ComponentChildren }) => <p class="actions">{children}</p>

/** A button that sends the field `answer`; `go` marks the one that goes on. */
export const Button = ({ answer, go, children }: { answer: string; go?: boolean; children: string }): VNode => (
  <button type="submit" name="answer" value={answer} class={go ? 'go' : undefined}>
    {children}
  </button>
)

/** The button that goes on, and where `cancel` is set one that leaves. */
export const GoOn = ({ answer, cancel, children }: { answer: string; cancel?: boolean; children: string }) => (
  <Actions>
    <Button answer={answer} go>
      {children}
    </Button>
    {cancel && <Button answer="cancel">Cancel</Button>}
  </Actions>
)

/** The price that the page shows: the answer is refused if it has changed. */
export const QuoteFields = ({ price, dq }: { readonly price: number; readonly dq: string }): VNode => (
  <>
    <input type="hidden" name="price" value={String(price)} />
    <input type="hidden" name="dq" value={dq} />
  </>
)

export interface Option {
  readonly value: string
  readonly label: string
  /** Under the label. */
  readonly note?: string
}

/** One of several to pick; the first where `chosen` is none of them. */
export const Choices = ({
  field,
  legend,
  note,
  options,
  chosen,
}: {
  readonly field: string
  readonly legend: string
  readonly note: string
  readonly options: readonly Option[]
  readonly chosen?: string
}): VNode => (
  <fieldset>
    <legend>{legend}</legend>
    <p class="muted">{note}</p>
    {options.map((option, place) => {
      const isChosen = options.some(({ value }) => value === chosen) ? option.value === chosen : place === 0
      return (
        <label class="choice">
          <input type="radio" name={field} value={option.value} checked={isChosen} />
          <bdi>{option.label}</bdi>
          {option.note !== undefined && <span class="muted">{option.note}</span>}
        </label>
      )
    })}
  </fieldset>
)

/** An amount with its shortcode, in a box. */
export const AmountText = ({ children }: { children: ComponentChildren }) => <p class="amount">{children}</p>

/** Names and values, line by line. */
export const Facts = ({ facts }: { facts: readonly (readonly [name: string, value: string])[] }) => (
  <dl class="lines">
    {facts.map(([name, value]) => (
      <div>
        <dt dir="auto">{name}</dt>
        <dd dir="auto">{value}</dd>
      </div>
    ))}
  </dl>
)

/** What someone else wrote, and who. */
export const Quotation = ({ by, children }: { by: string; children: string }) => (
  <figure>
    <figcaption>{by}</figcaption>
    <blockquote dir="auto">{children}</blockquote>
  </figure>
)

/** A link that leaves the service; `go` marks it as the way on. */
export const Onward = ({ to, go, children }: { to: string; go?: boolean; children: ComponentChildren }) => (
  <p class="onward">
    <a href={to} rel="noreferrer" class={go ? 'go' : undefined}>
      {children}
    </a>
  </p>
)

/** An app in a sentence: its name in quotation marks, and the host of its metadata document apart from it. */
export const AppTitle = ({ title, host }: { title: string; host: string | null }) => (
  <>
    <bdi>{title}</bdi>
    {host !== null && (
      <>
        {' of '}
        <Host host={host} />
      </>
    )}
  </>
)

/** Who vouches for the name of an app. */
export const AppOrigin = ({ host }: { host: string | null }) =>
  host === null ? (
    <p class="muted">The app registered itself. Nobody has checked its name.</p>
  ) : (
    <p>
      This is the app of <Host host={host} />
    </p>
  )

const Host = ({ host }: { host: string }) => (
  <strong class="host" dir="ltr">
    {host}
  </strong>
)
