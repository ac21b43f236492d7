import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Coin } from '../../src/http/pages/parts.js'
import type { MicroPayments } from '../../src/market/embeds/browser/element.client.js'
import { demo } from '../seed/demo.js'
import { article, song, type Tune } from '../shop/article.js'
import { useWallet, WalletRecords } from './phone.js'
import type { PaidContent } from './state.js'

export type RefusedPayment = { readonly hash: string; readonly why: string }

interface ShopProps {
  readonly payments: MicroPayments
  readonly bought: readonly PaidContent[]
  readonly refused: RefusedPayment | undefined
  readonly version: string
}

const { commodities } = demo

export const Shop = ({ payments, bought, refused, version }: ShopProps) => {
  const contentOf = (hash: string) => bought.find((each) => each.hash === hash)
  const gifts = bought.filter(({ hash }) => hash === commodities.donation).length
  const counter = { payments, refused }
  return (
    <main class="paper">
      <header class="masthead">
        <Coin />
        <p>{demo.account.name}</p>
        <nav aria-label="Sections">
          <a href="#article">Article</a>
          <a href="#song">Song</a>
          <a href="#support">Support</a>
        </nav>
      </header>
      <Article {...counter} bought={contentOf(commodities.article)} />
      <Song {...counter} bought={contentOf(commodities.song)} />
      <Donation {...counter} gifts={gifts} />
      <Till version={version} />
    </main>
  )
}

type Counter = Pick<ShopProps, 'payments' | 'refused'>
type Sold = Counter & { readonly bought: PaidContent | undefined }

const Article = ({ bought, ...counter }: Sold) => {
  const rest = bought && 'paragraphs' in bought.content ? bought.content.paragraphs : []
  return (
    <article id="article" class={bought ? '' : 'locked'}>
      <p class="kicker">{article.kicker}</p>
      <h1>{article.headline}</h1>
      <p class="standfirst">{article.standfirst}</p>
      <div class="text">
        {article.opening.map((text) => (
          <p>{text}</p>
        ))}
        {rest.map((text) => (
          <p class="rest">{text}</p>
        ))}
      </div>
      {bought ? (
        <Receipt {...bought} />
      ) : (
        <Offer title="Read the rest" text="One article, one payment. No subscription.">
          <PayButton {...counter} hash={commodities.article} leading="Read on for" />
        </Offer>
      )}
    </article>
  )
}

const Song = ({ bought, ...counter }: Sold) => (
  <section id="song" class="item" aria-labelledby="song-title">
    <Disc />
    <div>
      <p class="kicker">{song.kicker}</p>
      <h2 id="song-title">{song.title}</h2>
      <p class="muted">{song.about}</p>
      {bought ? (
        <>
          {'tune' in bought.content && <Player tune={bought.content.tune} />}
          <Receipt {...bought} />
        </>
      ) : (
        <PayButton {...counter} hash={commodities.song} leading="Pay" />
      )}
    </div>
  </section>
)

const Donation = ({ gifts, ...counter }: Counter & { readonly gifts: number }) => (
  <section id="support" class="item" aria-labelledby="support-title">
    <Press />
    <div>
      <p class="kicker">Support</p>
      <h2 id="support-title">Ink for the press</h2>
      <p class="muted">Half a dollar pays for the ink of one edition. You get our thanks.</p>
      <PayButton {...counter} hash={commodities.donation} leading="Pay" repeat />
      <p class="receipt muted small" role="status">
        {gifts > 0 && (gifts === 1 ? 'Thank you for your gift.' : `Thank you for your ${gifts} gifts.`)}
      </p>
    </div>
  </section>
)

const Offer = ({ title, text, children }: { title: string; text: string; children: ComponentChildren }) => (
  <aside class="offer" aria-labelledby="offer-title">
    <h2 id="offer-title">{title}</h2>
    <p class="muted">{text}</p>
    {children}
    <p class="hint muted small">
      Sign in as <code>{demo.reader.email}</code>. The code arrives on {demo.reader.name}'s phone.
    </p>
  </aside>
)

const Receipt = ({ payment }: PaidContent) => (
  <p class="receipt muted small" role="status">
    Paid and validated: payment {payment.id}.
  </p>
)

/** The payment element. The worker answers its frame. */
function PayButton({ payments, refused, ...options }: Counter & { hash: string; leading: string; repeat?: boolean }) {
  const place = useRef<HTMLDivElement>(null)
  const [hasFailed, setFailed] = useState(false)
  useEffect(() => {
    if (!place.current) return
    const element = payments.elements().create('payment', options)
    element.mount(place.current).catch(() => setFailed(true))
    return () => element.destroy()
  }, [])
  return (
    <>
      <div class="pay" ref={place} />
      <p role="alert">
        {hasFailed && 'The payment button did not load. Reload this page.'}
        {refused?.hash === options.hash && refused.why}
      </p>
    </>
  )
}

function Till({ version }: { version: string }) {
  const [isOpen, setOpen] = useState(false)
  const till = useWallet('shop/till', isOpen, version)
  return (
    <details class="till" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>The shop's till</summary>
      {till && <WalletRecords purse={till} />}
    </details>
  )
}

const Disc = () => (
  <svg class="picture" viewBox="0 0 96 96" aria-hidden="true">
    <circle cx="48" cy="48" r="46" fill="var(--bezel)" />
    <g fill="none" stroke="var(--on-coin)" stroke-opacity=".14">
      <circle cx="48" cy="48" r="40" />
      <circle cx="48" cy="48" r="34" />
      <circle cx="48" cy="48" r="28" />
    </g>
    <circle cx="48" cy="48" r="19" fill="var(--coin)" />
    <path
      d="M41 52c3 5 11 5 14-1 1-3 4-4 7-4-3-1-5-4-9-4-2-3-7-2-8 2-4-1-8 1-10 4 3-1 5 0 6 3Z"
      fill="var(--on-coin)"
    />
    <circle cx="48" cy="48" r="2" fill="var(--bezel)" />
  </svg>
)

const Press = () => (
  <svg class="picture" viewBox="0 0 96 96" aria-hidden="true">
    <path d="M14 40h68v34a6 6 0 0 1-6 6H20a6 6 0 0 1-6-6Z" fill="var(--primary)" />
    <path d="M26 14h44v34H26Z" fill="var(--card)" stroke="var(--line)" />
    <path d="M32 22h32M32 29h32M32 36h20" stroke="var(--muted)" stroke-width="3" />
    <path d="M22 48h52" stroke="var(--bezel)" stroke-width="5" stroke-linecap="round" />
    <circle cx="68" cy="64" r="5" fill="var(--on-coin)" />
    <path d="M26 64h26" stroke="var(--on-primary)" stroke-opacity=".35" stroke-width="4" stroke-linecap="round" />
  </svg>
)

export function Player({ tune }: { tune: Tune }) {
  const [playing, setPlaying] = useState<Playing>()
  useEffect(() => {
    if (!playing) return
    const timer = setTimeout(() => setPlaying(undefined), playing.seconds * 1000)
    return () => {
      clearTimeout(timer)
      playing.stop()
    }
  }, [playing])
  return (
    <div class="player">
      <button type="button" class="primary" onClick={() => setPlaying(playing ? undefined : play(tune))}>
        {playing ? 'Stop' : 'Play'} <span class="unseen">{tune.title}</span>
      </button>
      <Track seconds={playing?.seconds} />
    </div>
  )
}

const Track = ({ seconds }: { seconds: number | undefined }) => (
  <div class="track" aria-hidden="true">
    {seconds !== undefined && <div style={{ animationDuration: `${seconds}s` }} />}
  </div>
)

export type Playing = { readonly seconds: number; stop(): void }

/** Plays a tune. Browsers allow this only after a click. */
export function play({ beatsPerMinute, voices }: Tune): Playing {
  const context = new AudioContext()
  const beat = 60 / beatsPerMinute
  const ends = voices.map((voice, at) => playVoice(context, voice, beat, at === 0 ? 'triangle' : 'sine'))
  return { seconds: Math.max(...ends), stop: () => void context.close() }
}

function playVoice(context: AudioContext, voice: readonly number[], beat: number, type: OscillatorType): number {
  let from = context.currentTime + 0.05
  for (let i = 0; i < voice.length; i += 2) {
    const [pitch = 0, beats = 0] = voice.slice(i, i + 2)
    if (pitch > 0) playNote(context, { pitch, from, seconds: beats * beat, type })
    from += beats * beat
  }
  return from - context.currentTime
}

type Note = { readonly pitch: number; readonly from: number; readonly seconds: number; readonly type: OscillatorType }

function playNote(context: AudioContext, { pitch, from, seconds, type }: Note): void {
  const tone = new OscillatorNode(context, { type, frequency: 440 * 2 ** ((pitch - 69) / 12) })
  const loudness = new GainNode(context, { gain: 0 })
  loudness.gain.setValueAtTime(0, from)
  loudness.gain.linearRampToValueAtTime(0.2, from + 0.02)
  loudness.gain.exponentialRampToValueAtTime(0.002, from + seconds * 1.1)
  tone.connect(loudness).connect(context.destination)
  tone.start(from)
  tone.stop(from + seconds * 1.1)
}
