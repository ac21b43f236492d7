import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { call, headersAs, type Row, readRows, urlOf } from './api.js'
import { openForm } from './data-actions.js'
import { Button, Code, Empty, Select } from './parts.js'
import { act, moneyOfUnits, nameOf, revision } from './state.js'

const articles = signal<readonly Row[]>([])
const chosen = signal<string | undefined>(undefined)
/** What a page needs of the seller of the chosen article. */
const publicSecret = signal<string | undefined>(undefined)
/** The catalog item that sells the chosen article, if one does. */
const item = signal<Row | undefined>(undefined)

/** One of your articles in a live payment element, and what a page needs to have it. */
export function Try() {
  useEffect(() => {
    readRows('commodities', { limit: '100' }).then(({ rows }) => (articles.value = rows))
  }, [revision.value])
  const article = articles.value.find(({ id }) => id === chosen.value) ?? articles.value[0]
  useEffect(() => {
    if (article) void readSale(article)
  }, [article?.id])
  if (!article)
    return (
      <Empty title="Nothing is for sale yet">
        <p>Make an article. It appears here with a payment button.</p>
        <p>
          <Button kind="primary" onClick={() => (openForm.value = 'article')}>
            New article
          </Button>
        </p>
      </Empty>
    )
  return (
    <section aria-label="Try">
      <h2>Pay as a person</h2>
      <Select
        label="Article"
        is="field"
        value={String(article.id)}
        values={articles.value.map(({ id, descriptor, cost, dq, owner }) => [
          String(id),
          `${descriptor}, ${moneyOfUnits(cost, dq)}, ${nameOf(String(owner))}`,
        ])}
        onChange={(id) => (chosen.value = id)}
      />
      {publicSecret.value && (
        <>
          <Element key={String(article.id)} hash={String(article.id)} publicSecret={publicSecret.value} />
          <p class="muted small">Any email address works. The code is in the inbox.</p>
          {item.value && (
            <p>
              <Button kind="plain" onClick={() => item.value && checkout(String(article.owner), item.value)}>
                Make a checkout link
              </Button>
            </p>
          )}
          <h2>On your own page</h2>
          <Code>{snippet(publicSecret.value, String(article.id))}</Code>
        </>
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

async function checkout(owner: string, { id }: Row): Promise<void> {
  const headers = await headersAs(owner)
  const made = await act(
    'The checkout is open in a new tab.',
    call('POST', 'v4/checkout', { body: { catalog_item_id: id }, headers, isShown: true }),
  )
  if (made) open(made.url ?? urlOf(`checkout/${made.token}`))
}

async function readSale({ id, owner }: Row): Promise<void> {
  const [account, sold] = await Promise.all([
    readRows('accounts', { field: 'id', value: String(owner).replace('account:', ''), limit: '1' }),
    readRows('catalog_items', { field: 'hash', value: String(id), limit: '1' }),
  ])
  publicSecret.value = account.rows[0] && String(account.rows[0].public_secret)
  item.value = sold.rows[0]
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
