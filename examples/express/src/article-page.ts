export interface Article {
  /** The hash of its commodity. */
  readonly hash: string
  readonly title: string
  readonly beginning: string
  readonly story: string
}

/** What a page needs to show the payment element. */
export interface Shop {
  /** Where the micropayment service is, for browsers. */
  readonly serviceUrl: string
  /** Of the seller's account. Everybody may know it. */
  readonly publicSecret: string
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const html = (text: string) => text.replace(/[&<>"]/g, (character) => escapes[character] ?? '')

/** The page of an article, with a button that pays for the story. */
export const articlePage = (
  { hash, title, beginning }: Article,
  { serviceUrl, publicSecret }: Shop,
): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${html(title)}</title>
<h1>${html(title)}</h1>
<p id="story">${html(beginning)}</p>
<div id="pay" data-hash="${html(hash)}" data-public-secret="${html(publicSecret)}"></div>
<script type="module" crossorigin="anonymous" src="${html(serviceUrl)}/micropay.js"></script>
<script type="module">
  const { hash, publicSecret } = document.querySelector('#pay').dataset
  loadMicroPayments(publicSecret).elements().create('payment', { hash, leading: 'Read for' }).mount('#pay')
  document.addEventListener('payment', async ({ detail: { nonce, timestamp } }) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch('', { method: 'POST', headers, body: JSON.stringify({ nonce, timestamp }) })
    const { story, error } = await answer.json()
    document.querySelector('#story').textContent = story ?? error
  })
</script>
</html>
`
