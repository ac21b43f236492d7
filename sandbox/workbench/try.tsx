import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { call, type Row, readRows, tokenOf, urlOf } from './api.js'
import { Code, Empty } from './parts.js'
import { act, moneyOfUnits, nameOf, names } from './state.js'

interface Seller {
  readonly name: string
  readonly public_secret: string
  readonly client_id: string
  readonly client_secret: string
}

const sellers = signal<readonly Seller[]>([])
const articles = signal<readonly Row[]>([])
const chosen = signal<string | undefined>(undefined)

/** One of your articles in a live payment element, and what a page needs to have it. */
export function Try() {
  useEffect(() => {
    call('GET', '_sandbox/credentials').then(({ ok, body }) => ok && (sellers.value = body.accounts))
    readRows('commodities', { limit: '100' }).then(({ rows }) => (articles.value = rows))
  }, [names.value])
  const article = articles.value.find(({ id }) => id === chosen.value) ?? articles.value[0]
  if (!article)
    return (
      <Empty title="Nothing is for sale yet">
        <p>Make an article under Data. It appears here with a payment button.</p>
      </Empty>
    )
  const seller = sellers.value.find(({ name }) => name === nameOf(String(article.owner)))
  return (
    <section aria-label="Try">
      <h2>Pay as a person</h2>
      <label class="field">
        <span>Article</span>
        <select value={String(article.id)} onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}>
          {articles.value.map(({ id, descriptor, cost, dq, owner }) => (
            <option key={String(id)} value={String(id)}>
              {String(descriptor)}, {moneyOfUnits(cost, dq)}, {nameOf(String(owner))}
            </option>
          ))}
        </select>
      </label>
      {seller ? (
        <>
          <Element key={String(article.id)} hash={String(article.id)} publicSecret={seller.public_secret} />
          <p class="muted small">Any email address works. The code is in the inbox.</p>
          <p>
            <button type="button" onClick={() => checkout(seller, article)}>
              Make a checkout link
            </button>
          </p>
          <h2>On your own page</h2>
          <Code>{snippet(seller.public_secret, String(article.id))}</Code>
        </>
      ) : (
        <p class="muted">
          The seller of this article did not come from a seed, so its public secret is not known here. Use the one that
          you got when you created the account.
        </p>
      )}
    </section>
  )
}

/** The element of the service that this page shows. */
function Element({ hash, publicSecret }: { hash: string; publicSecret: string }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    let isOver = false
    show(publicSecret, hash).then((element) => isOver || (place.current && element.mount(place.current)))
    return () => {
      isOver = true
    }
  }, [])
  return <div ref={place} class="element" />
}

/** A script element, because the address is known only here. */
const loaded = (src: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement('script'), { src, type: 'module', crossOrigin: 'anonymous' })
    script.addEventListener('load', resolve)
    script.addEventListener('error', reject)
    document.head.append(script)
  })

async function show(publicSecret: string, hash: string) {
  await loaded(urlOf('micropay.js'))
  // The script that was just loaded sets it.
  const { loadMicroPayments } = globalThis as unknown as { loadMicroPayments: typeof LoadMicroPayments }
  return (await loadMicroPayments(publicSecret)).elements().create('payment', { hash })
}

declare const LoadMicroPayments: (publicSecret: string) => Promise<{
  elements(): { create(kind: 'payment', options: { hash: string }): { mount(place: Element | string): void } }
}>
type Element = HTMLElement

async function checkout(seller: Seller, { id }: Row): Promise<void> {
  const token = await tokenOf('account', seller)
  const headers = { authorization: `Bearer ${token}` }
  const made = await act(
    'The checkout is open in a new tab.',
    call('POST', 'v4/checkout', { body: { hash: id }, headers }),
  )
  if (made) open(made.url ?? urlOf(`checkout/${made.token}`))
}

const snippet = (publicSecret: string, hash: string) => `<div id="pay"></div>
<script type="module" crossorigin="anonymous" src="${urlOf('micropay.js')}"></script>
<script type="module">
  const payments = await loadMicroPayments('${publicSecret}')
  payments.elements()
    .create('payment', { hash: '${hash}' })
    .mount('#pay')
  document.addEventListener('payment', ({ detail }) => {
    // Send detail.nonce and detail.timestamp to your server, which validates the payment once.
  })
</script>`
