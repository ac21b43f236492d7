import type { VNode } from 'preact'
import { revealInvisible } from '../../base/text/invisible-characters.js'
import { labelOf } from '../second-factor/wording.js'

/** All fields of an object. Values that others wrote are shown as plain text. */
export const AllFields = ({ of: fields }: { of: Readonly<Record<string, unknown>> }) => (
  <dl>
    {Object.entries(fields).map(([name, value]) => (
      <div>
        <dt dir="auto">{labelOf(revealInvisible(name))}</dt>
        <dd>
          <Value value={value} />
        </dd>
      </div>
    ))}
  </dl>
)

/** Each changed field, with its current and its new value. */
export const Change = ({
  change,
  now,
}: {
  change: Readonly<Record<string, unknown>>
  now: Readonly<Record<string, unknown>>
}) => (
  <>
    <h2>What changes</h2>
    <dl>
      {Object.entries(change).map(([name, value]) => (
        <div>
          <dt>{labelOf(revealInvisible(name))}</dt>
          {Object.hasOwn(now, name) && (
            <dd>
              <span class="muted">Now: </span>
              <Value value={now[name]} />
            </dd>
          )}
          <dd>
            {Object.hasOwn(now, name) && <span class="muted">Becomes: </span>}
            <Value value={value} />
          </dd>
        </div>
      ))}
    </dl>
  </>
)

/** One line of text, or JSON for anything longer. */
function Value({ value }: { value: unknown }): VNode {
  if (value === null || value === '') return <em>{value === null ? 'none' : 'empty'}</em>
  if (typeof value === 'boolean') return <span>{value ? 'yes' : 'no'}</span>
  if (typeof value === 'object') return Array.isArray(value) ? <Items items={value} /> : <Fields fields={value} />
  const text = revealInvisible(String(value))
  return text.includes('\n') ? <pre dir="auto">{text}</pre> : <bdi>{text}</bdi>
}

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Levels of nesting. An object of plain values has 1. */
const depthOf = (value: unknown): number =>
  isNested(value) ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

/** A list of fields, or JSON if the value is nested too deep to read. */
const Fields = ({ fields }: { fields: object }) => {
  const entries = Object.entries(fields)
  if (entries.length === 0) return <em>none</em>
  if (depthOf(fields) > 2) return <Json value={fields} />
  return (
    <ul>
      {entries.map(([name, value]) => (
        <li>
          <bdi class="muted">{revealInvisible(name)}</bdi>
          <span class="muted">: </span>
          <Value value={value} />
        </li>
      ))}
    </ul>
  )
}

const Items = ({ items }: { items: readonly unknown[] }) =>
  items.length === 0 ? (
    <em>none</em>
  ) : (
    <ol>
      {items.map((item) => (
        <li>{isNested(item) ? <Fields fields={item} /> : <Value value={item} />}</li>
      ))}
    </ol>
  )

const Json = ({ value }: { value: unknown }) => <pre dir="ltr">{revealInvisible(JSON.stringify(value, null, 2))}</pre>
