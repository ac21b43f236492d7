import { inline } from '../../http/pages/html.js'

const dark = `
  --text: #eceef2; --background: #1c2129; --primary: #0d7d74; --on-primary: #ffffff;
  --error: #ff8a80; --success: #8fe3b5; --warning: #f2b45c; --scheme: dark; --focus: #8ab4ff;`

/** Style of all embeds. Custom properties that a page sets come after it (style.ts). */
export const embedStyle = inline(`
@layer defaults {
  :root {
    --text: #1c2430; --background: #ffffff; --primary: #0f766e; --on-primary: #ffffff;
    --error: #b3261e; --success: #8fe3b5; --warning: #9a5b00; --scheme: light; --focus: #2563eb;
    --radius: 10px; --border: 0 solid transparent; --padding: 6px 12px; --unit: 4px;
    --font: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  }
  :root[data-theme=dark] {${dark} }
  @media (prefers-color-scheme: dark) { :root:not([data-theme]) {${dark} } }
}
/* Whatever the theme: a frame whose scheme is not that of its element would not be transparent. */
:root { color-scheme: light; }
* { box-sizing: border-box; margin: 0; }
strong { display: block; }
[hidden] { display: none !important; }
body { overflow: hidden; color: var(--text); font: 15px/1.45 var(--font); -webkit-text-size-adjust: 100%; }
button, input { font: inherit; color: inherit; }
button { cursor: pointer; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
h1, p, button { overflow-wrap: break-word; min-width: 0; }

#open {
  display: flex; align-items: center; justify-content: center; gap: .3em; width: 100%; min-height: 48px;
  padding: var(--padding); border: var(--border); border-radius: var(--radius);
  background: var(--primary); color: var(--on-primary); font-weight: 600; line-height: 1.25; text-align: center;
}
#open:hover { background: color-mix(in oklab, var(--primary), var(--on-primary) 12%); }
#open:active { background: color-mix(in oklab, var(--primary), var(--on-primary) 20%); }
#open:focus-visible { outline-color: var(--on-primary); outline-offset: -6px; }
#open.paid { box-shadow: inset 0 0 0 3px var(--success); }
#open.measured { width: max-content; max-width: 320px; min-width: 137px; }
#open.wide.measured { min-width: 171px; }
.amount { font-variant-numeric: tabular-nums; white-space: nowrap; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.notice { display: grid; place-items: center; min-height: 48px; padding: 4px 8px; font-size: 13px; text-align: center; background: var(--background); border-radius: 6px; }

dialog {
  color-scheme: var(--scheme); width: min(400px, 100% - 32px); max-width: none; max-height: calc(100dvh - 32px);
  margin: auto; padding: calc(var(--unit) * 6) calc(var(--unit) * 7) calc(var(--unit) * 7);
  border: 1px solid color-mix(in oklab, var(--background), var(--text) 12%); border-radius: max(var(--radius), 10px);
  background: var(--background); color: var(--text); box-shadow: 0 24px 64px rgb(10 14 20 / .35); overflow: auto;
}
dialog::backdrop { background: rgb(12 16 22 / .55); }
header { padding-bottom: calc(var(--unit) * 5); border-bottom: 1px solid color-mix(in oklab, var(--background), var(--text) 12%); }
h1 { font-size: 17px; font-weight: 650; line-height: 1.3; letter-spacing: -.005em; }
.muted { color: color-mix(in oklab, var(--text), var(--background) 28%); font-size: 13px; }
.receipt { margin-top: 2px; letter-spacing: .03em; }
.price { margin-top: calc(var(--unit) * 4); font-size: 34px; font-weight: 650; line-height: 1.1; letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
.price span { font-size: 17px; font-weight: 500; letter-spacing: 0; }
.about { margin-top: calc(var(--unit) * 3); font-size: 14px; white-space: pre-line; overflow-wrap: anywhere; }
form { display: grid; gap: calc(var(--unit) * 3); margin-top: calc(var(--unit) * 5); }
label { display: block; margin-bottom: 6px; font-size: 13px; font-weight: 600; }
input {
  width: 100%; min-height: 46px; padding: 8px 12px; font-size: 16px; background: transparent;
  border: 1px solid color-mix(in oklab, var(--background), var(--text) 50%); border-radius: min(var(--radius), 12px);
}
input:focus-visible { outline-offset: -1px; border-color: transparent; }
input[aria-invalid=true] { border-color: var(--error); }
#code { font-size: 22px; letter-spacing: .3em; font-variant-numeric: tabular-nums; }
.actions { display: flex; gap: calc(var(--unit) * 2.5); margin-top: calc(var(--unit) * 2); }
.actions button {
  flex: 1 1 0; min-height: 46px; padding: 8px 14px; font-weight: 600; background: transparent;
  border: 1px solid color-mix(in oklab, var(--background), var(--text) 30%); border-radius: min(var(--radius), 23px);
}
.actions button:hover { background: color-mix(in oklab, var(--background), var(--text) 7%); }
.actions [value=go] { flex-grow: 1.6; border-color: transparent; background: var(--primary); color: var(--on-primary); }
.actions [value=go]:hover { background: color-mix(in oklab, var(--primary), var(--on-primary) 12%); }
[aria-busy=true] .actions [value=go], .actions [aria-disabled=true] { opacity: .6; cursor: progress; }
#other-way { display: grid; gap: calc(var(--unit) * 2); margin-top: calc(var(--unit) * 5); }
#own-window { min-height: 40px; padding: 8px 14px; background: transparent; border: 1px solid color-mix(in oklab, var(--background), var(--text) 50%); border-radius: min(var(--radius), 20px); }
#own-window:hover { background: color-mix(in oklab, var(--background), var(--text) 7%); }
.more { display: flex; flex-wrap: wrap; gap: 4px 20px; margin-top: calc(var(--unit) * 1); }
.more button, .who button {
  padding: 4px 0; border: 0; background: none; font-size: 13px; text-decoration: underline;
  text-decoration-color: color-mix(in oklab, currentColor, transparent 55%); text-underline-offset: 3px;
}
.more button:hover, .who button:hover { text-decoration-color: currentColor; }
.who { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0 16px; }
.balance {
  padding: 12px 14px; border-radius: min(var(--radius), 12px); font-size: 14px; font-weight: 600; letter-spacing: .02em;
  background: color-mix(in oklab, var(--background), var(--text) 6%); font-variant-numeric: tabular-nums;
}
[role=alert] {
  --tone: var(--error);
  margin-top: calc(var(--unit) * 5); padding: 10px 14px; font-size: 14px; border-left: 4px solid var(--tone); border-radius: 4px;
  background: color-mix(in oklab, var(--background), var(--tone) 10%);
}
[role=alert].mild { --tone: var(--warning); }
[role=alert]:empty { display: none; }
#consent { max-height: min(260px, 34dvh); margin-top: 6px; padding: 12px 14px 12px 32px; overflow: auto; border-radius: min(var(--radius), 12px); font-size: 14px; background: color-mix(in oklab, var(--background), var(--text) 6%); }
#consent li { white-space: pre-line; overflow-wrap: anywhere; }
#consent strong { display: inline; }
#consent li + li { margin-top: calc(var(--unit) * 2); }
.hint { margin-top: calc(var(--unit) * 2); }
.hint a { color: inherit; text-underline-offset: 3px; }
@media (max-width: 480px) {
  dialog { width: 100%; max-height: 100dvh; margin: auto 0 0; padding-inline: 20px; border-width: 1px 0 0; border-end-start-radius: 0; border-end-end-radius: 0; }
}
.window dialog { margin: auto; border: 0; box-shadow: none; }
.window dialog::backdrop { background: var(--background); }
@media (max-height: 480px) {
  /* So low that the price and the button that agrees to it fit at once. */
  dialog { max-height: 100dvh; padding-block: 0 12px; scroll-padding-top: 56px; }
  header { position: sticky; top: 0; display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 12px; padding-block: 10px 8px; background: var(--background); }
  .price { margin: 0 0 0 auto; font-size: 22px; }
  form { gap: 8px; margin-top: 8px; }
  .balance { padding-block: 6px; }
  .actions { margin-top: 0; }
  #consent { max-height: 24dvh; padding-block: 6px; }
  [role=alert] { margin-top: 8px; padding-block: 6px; }
}
@media (prefers-reduced-motion: no-preference) {
  dialog[open] { animation: rise .18s cubic-bezier(.2, .8, .3, 1); }
  dialog[open]::backdrop { animation: dim .18s ease-out; }
  #open, .actions button { transition: background-color .12s; }
}
@keyframes rise { from { opacity: 0; transform: translateY(10px); } }
@keyframes dim { from { opacity: 0; } }
`)
