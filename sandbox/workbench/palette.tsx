import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { commands } from './commands.js'

export const isOpen = signal(false)

const MOST_SHOWN = 12

/** ⌘K: everything that can be done, by typing a part of its name. */
export function Palette() {
  return isOpen.value ? <Open /> : null
}

function Open() {
  const query = useSignal('')
  const at = useSignal(0)
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => element.current?.showModal(), [])
  const close = () => (isOpen.value = false)
  const words = query.value.toLowerCase().split(/\s+/)
  const found = commands()
    .filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)))
    .slice(0, MOST_SHOWN)
  const run = (n: number) => {
    close()
    found[n]?.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      at.value = (at.value + step + found.length) % Math.max(found.length, 1)
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      run(at.value)
    }
  }
  return (
    <dialog ref={element} class="palette" onClose={close} aria-label="Commands">
      <input
        type="text"
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls="commands"
        aria-activedescendant={`command-${at.value}`}
        placeholder="What do you want to do?"
        onInput={({ currentTarget }) => {
          query.value = currentTarget.value
          at.value = 0
        }}
        onKeyDown={onKeyDown}
      />
      <div id="commands" role="listbox" aria-label="Commands">
        {found.map(({ title }, n) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the text field takes the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the same
          <div key={title} id={`command-${n}`} role="option" aria-selected={n === at.value} onClick={() => run(n)}>
            {title}
          </div>
        ))}
      </div>
    </dialog>
  )
}
