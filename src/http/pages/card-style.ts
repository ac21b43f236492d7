import { inline } from './html.js'
import { paletteCss } from './palette.js'

/** What pages that ask people something alone look like: a card in the middle. Each adds its own style. */
export const cardStyle = inline(`${paletteCss}
* { box-sizing: border-box; margin: 0; }
body {
  display: grid; place-items: center; min-height: 100vh; padding: 24px 16px; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; -webkit-text-size-adjust: 100%;
}
main {
  width: min(440px, 100%); padding: 28px; border: 1px solid var(--line); border-radius: 14px; background: var(--card);
  overflow-wrap: anywhere;
}
.coin svg { display: block; width: 28px; height: 28px; }
h1 { font-size: 24px; font-weight: 650; line-height: 1.25; letter-spacing: -.01em; }
.muted { color: var(--muted); font-size: 14px; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
`)

/** The looks of forms, and of all other parts of a page, beside `cardStyle`. */
export const formStyle = inline(`
main > .coin + * { margin-top: 12px; }
h1 ~ p, form { margin-top: 16px; }
h1 + .muted { margin-top: 4px; }
.kicker { color: var(--muted); font-size: 14px; }
.kicker + h1 { margin-top: 2px; }
.good h1 { color: var(--good); }
.bad h1 { color: var(--bad); }
.host { color: var(--text); overflow-wrap: anywhere; }
h2, legend { padding: 0; font-size: 14px; font-weight: 600; }
main > h2 { margin-top: 24px; }
form { display: grid; gap: 16px; }
label { display: block; margin-bottom: 6px; font-size: 14px; font-weight: 600; }
input[type=email], input[type=text] {
  width: 100%; min-height: 48px; padding: 8px 12px; border: 1px solid var(--edge); border-radius: 10px;
  background: transparent; color: inherit; font: inherit;
}
#code { font-size: 22px; letter-spacing: .3em; font-variant-numeric: tabular-nums; }
input[aria-invalid=true] { border-color: var(--bad); }
fieldset { min-width: 0; padding: 0; border: 0; }
legend ~ .muted { margin-bottom: 4px; }
.choice {
  display: grid; grid-template-columns: 20px 1fr; gap: 0 12px; align-items: center; align-content: center; min-height: 44px;
  padding: 6px 0; margin: 0; font-size: 16px; font-weight: 400;
}
.choice .muted { grid-column: 2; }
input[type=radio] { width: 20px; height: 20px; margin: 0; accent-color: var(--primary); }
/* The button that goes on is at the right, whichever is first: Enter presses the first. */
.actions { display: flex; flex-direction: row-reverse; flex-wrap: wrap; gap: 12px; margin-top: 8px; }
button { font: inherit; color: inherit; cursor: pointer; }
.actions button {
  flex: 1 1 140px; min-height: 48px; padding: 8px 16px; border: 1px solid var(--edge); border-radius: 10px;
  background: transparent; font-weight: 600;
}
.actions button:hover { background: color-mix(in oklab, var(--card), var(--text) 7%); }
.actions .go { order: -1; border-color: transparent; background: var(--primary); color: var(--on-primary); }
.actions .go:hover { background: color-mix(in oklab, var(--primary), var(--on-primary) 12%); }
.at-hand { position: sticky; bottom: 0; margin-inline: -28px; padding: 4px 28px 16px; background: var(--card); }
html:has(.at-hand) { scroll-padding-bottom: 96px; }
details { margin-top: 8px; }
summary { min-height: 32px; padding: 4px 0; font-size: 14px; cursor: pointer; }
.more { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 20px; margin-top: 16px; }
.more a { font-size: 14px; }
.more button { min-height: 28px; padding: 0; border: 0; background: none; font-size: 14px; text-decoration: underline; text-underline-offset: 3px; }
[role=alert] {
  margin-top: 16px; padding: 10px 14px; border-left: 4px solid var(--bad); border-radius: 4px;
  background: color-mix(in oklab, var(--card), var(--bad) 10%);
}
a { color: inherit; text-underline-offset: 3px; }
.onward a {
  display: block; min-height: 48px; padding: 11px 16px; border: 1px solid var(--edge); border-radius: 10px;
  font-weight: 600; text-align: center; text-decoration: none; overflow-wrap: anywhere;
}
.onward .go { border-color: transparent; background: var(--primary); color: var(--on-primary); }
h1 ~ .amount {
  margin-top: 20px; padding: 14px 16px; border: 1px solid var(--line); border-radius: 10px;
  font-size: 20px; font-weight: 650; font-variant-numeric: tabular-nums;
}
.balance { font-weight: 600; font-variant-numeric: tabular-nums; }
dl { margin-top: 16px; border-top: 1px solid var(--line); }
dl > div { padding: 8px 0; border-bottom: 1px solid var(--line); }
dt { color: var(--muted); font-size: 14px; }
dd { min-width: 0; margin: 2px 0 0; font-variant-numeric: tabular-nums; }
.lines > div { display: flex; flex-wrap: wrap; gap: 0 16px; align-items: baseline; justify-content: space-between; }
dd em { color: var(--muted); }
dd ul, dd ol { margin: 0; padding: 0; list-style: none; }
ul ul { padding-left: 16px; }
dd ol { padding-left: 24px; list-style: decimal; }
ol > li + li { margin-top: 8px; }
.list { margin-top: 6px; padding: 0; list-style: none; border-top: 1px solid var(--line); }
.list li { padding: 10px 0; border-bottom: 1px solid var(--line); }
pre {
  margin-top: 6px; padding: 12px 14px; border: 1px solid var(--line); border-radius: 10px;
  font: 14px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
}
figure { margin-top: 20px; }
figcaption { color: var(--muted); font-size: 14px; }
blockquote { margin-top: 4px; padding: 2px 0 2px 14px; border-left: 4px solid var(--line); overflow-wrap: anywhere; }
@media (max-width: 480px) { body { padding: 0; place-items: stretch; } main { border: 0; border-radius: 0; } }
`)
