'use client'

import { loadMicroPayments, type PaymentDetail } from 'farthing/element'
import { useEffect, useRef, useState } from 'react'

interface Properties {
  slug: string
  hash: string
  beginning: string
  serviceUrl: string
  publicSecret: string
}

/** How a story begins, with a button that pays for the rest. */
export function Story({ slug, hash, beginning, serviceUrl, publicSecret }: Properties) {
  const [text, setText] = useState(beginning)
  const place = useRef<HTMLDivElement>(null)

  useEffect(() => {
    const unlock = async (event: Event) => {
      const { nonce, timestamp }: PaymentDetail = (event as CustomEvent).detail
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify({ nonce, timestamp })
      const { story, error } = await (await fetch(`/api/articles/${slug}`, { method: 'POST', headers, body })).json()
      setText(story ?? error)
    }
    const elements = loadMicroPayments(publicSecret, { serviceUrl }).elements()
    const button = elements.create('payment', { hash, leading: 'Read for' })
    if (place.current) button.mount(place.current)
    document.addEventListener('payment', unlock)
    return () => {
      document.removeEventListener('payment', unlock)
      button.destroy()
    }
  }, [slug, hash, serviceUrl, publicSecret])

  return (
    <>
      <p>{text}</p>
      <div ref={place} />
    </>
  )
}
