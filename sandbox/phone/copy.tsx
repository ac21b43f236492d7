import { useState } from 'preact/hooks'

/** Copies a text to the clipboard, if the browser allows it, and confirms it. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => {
        setCopied(true)
        setTimeout(() => setCopied(false), 2000)
      },
      () => {},
    )
  return (
    <button type="button" class="copy" onClick={copy}>
      {isCopied ? 'Copied' : 'Copy'} <span class="unseen">{what}</span>
    </button>
  )
}
