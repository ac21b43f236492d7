import type { Signal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { parsedJson } from '../../src/base/json.js'
import { health, tell } from './state.js'

/** The small parts that all views use. */

/** A button that sends no form. */
export const Button = ({ kind = 'quiet', ...rest }: JSX.ButtonHTMLAttributes & { kind?: string }) => (
  <button type="button" class={kind === 'plain' ? undefined : kind} {...rest} />
)

/** A link that looks like a quiet button. */
export const QuietLink = (props: JSX.AnchorHTMLAttributes) => <a class="quiet" {...props} />

/** A choice between values, each with the name that people read. */
export const Select = ({ label, is, value, values, onChange }: SelectProps) => (
  <label class={is}>
    <span>{label}</span>
    <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      {values.map(([each, name]) => (
        <option key={each} value={each}>
          {name}
        </option>
      ))}
    </select>
  </label>
)

interface SelectProps {
  readonly label: string
  readonly is: 'field' | 'inline'
  readonly value: string
  readonly values: readonly (readonly [value: string, name: string])[]
  readonly onChange: (value: string) => unknown
}

/** Copies a text, and says so. */
export function Copy({ text, label = 'Copy' }: { text: string | (() => Promise<string>); label?: string }) {
  const [isDone, setDone] = useState(false)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : await text())
      setDone(true)
      setTimeout(() => setDone(false), 1200)
    } catch {
      tell('The browser did not allow to copy. Select the text, and copy it by hand.', true)
    }
  }
  return <Button onClick={copy}>{isDone ? 'Copied' : label}</Button>
}

/** The field that the key `/` goes to. */
export const Search = ({ label, query }: { label: string; query: Signal<string> }) => (
  <input
    id="search"
    type="search"
    aria-label={label}
    placeholder="Search  /"
    value={query.value}
    onInput={({ currentTarget }) => (query.value = currentTarget.value)}
  />
)

/** A code that can be copied. */
export const Code = ({ children, label }: { children: string; label?: string }) => (
  <div class="snippet">
    <pre>
      <code>{children}</code>
    </pre>
    <Copy text={children} {...(label !== undefined && { label })} />
  </div>
)

/** What a view shows while it has nothing. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
)

/** A table, or something else that may be wider than the page. */
export const Scrolls = ({ children }: { children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
  <div class="scrolls" tabIndex={0}>
    {children}
  </div>
)

/** `amount`: a column of numbers. `unseen`: its title is only for who cannot see the page. */
type Column = string | { readonly title: string; readonly is: 'amount' | 'unseen' }

export const Table = ({ columns, children }: { columns: readonly Column[]; children: ComponentChildren }) => (
  <Scrolls>
    <table>
      <thead>
        <tr>
          {columns.map((column) => {
            const { title, is = undefined } = typeof column === 'string' ? { title: column } : column
            return (
              <th key={title} scope="col" class={is === 'amount' ? is : undefined}>
                {is === 'unseen' ? <span class="unseen">{title}</span> : title}
              </th>
            )
          })}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </Scrolls>
)

/** When something happened, by the sandbox's clock. */
export function Time({ at }: { at: string | number }) {
  const date = new Date(at)
  const iso = date.toISOString()
  const isToday = health.value?.clock.now.slice(0, 10) === iso.slice(0, 10)
  const text = isToday ? iso.slice(11, 19) : iso.slice(0, 16).replace('T', ' ')
  return (
    <time dateTime={iso} title={iso}>
      {text}
    </time>
  )
}

/** A form in a dialog. It closes when `onSubmit` returns true. */
export function Dialog({
  title,
  submit,
  children,
  onSubmit,
  onClose,
}: {
  title: string
  submit: string
  children: ComponentChildren
  onSubmit: (values: Record<string, string>) => Promise<boolean>
  onClose: () => void
}) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => element.current?.showModal(), [])
  const send = async (event: SubmitEvent) => {
    event.preventDefault()
    const values = Object.fromEntries(
      [...new FormData(event.currentTarget as HTMLFormElement)].map(([name, value]) => [name, String(value)]),
    )
    if (await onSubmit(values)) onClose()
  }
  return (
    <dialog ref={element} onClose={onClose} aria-label={title}>
      <form onSubmit={send}>
        <h2>{title}</h2>
        {children}
        <p class="acts">
          <Button kind="plain" onClick={onClose}>
            Cancel
          </Button>
          <button type="submit" class="primary">
            {submit}
          </button>
        </p>
      </form>
    </dialog>
  )
}

export const Field = ({
  label,
  name,
  value,
  ...rest
}: {
  label: string
  name: string
  /** What it begins with. The page is drawn again with each request, which must not undo what is typed. */
  value?: string
  type?: string
  step?: string
  list?: string
  placeholder?: string
  required?: boolean
}) => (
  <label class="field">
    <span>{label}</span>
    <input name={name} defaultValue={value} {...rest} />
  </label>
)

/** JSON as people read it, or the text as it is. */
export function pretty(body: string): string {
  const value = parsedJson(body)
  return value === undefined ? body : JSON.stringify(value, null, 2)
}
