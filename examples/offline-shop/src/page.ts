import type { loadMicroPayments as Load } from 'farthing/element'
import { register } from 'farthing/service-worker/register'
// Vite builds the worker to one file, and this is its URL.
import worker from '../worker?worker&url'
import './style.css'

const status = document.querySelector('[role=status]')
const article = document.querySelector('article')

try {
  await register(worker)
  // The worker answers this too. The script sets `loadMicroPayments`.
  await import(/* @vite-ignore */ new URL('pay/micropay.js', document.baseURI).href)
  const { loadMicroPayments } = globalThis as typeof globalThis & { loadMicroPayments: typeof Load }
  const elements = loadMicroPayments('mp_00000000000000000000000000000001').elements()
  await elements.create('payment', { hash: '00000000-0000-4000-8000-0000000000a1' }).mount('#pay')
  status?.replaceChildren('This shop works without a network.')
} catch (error) {
  status?.replaceChildren(`The shop cannot start. ${error instanceof Error ? error.message : error}`)
}

document.addEventListener('payment', async ({ detail: { nonce, timestamp } }) => {
  const answer = await fetch('pay/unlock', { method: 'POST', body: JSON.stringify({ nonce, timestamp }) })
  article?.replaceChildren(await answer.text())
})
