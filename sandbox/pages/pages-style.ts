import { inline } from '../../src/http/html.js'

const dark = `
  --paper: #15181d; --card: #1d2128; --ink: #eceae5; --muted: #a9a8a4; --line: #333842; --accent: #5cc4b8; --focus: #8ab4ff;
  --error: #ff8a80; --code: #242932;`

/** What the sandbox's own pages share. */
export const pagesStyle = inline(`
:root {
  color-scheme: light dark;
  --paper: #faf8f4; --card: #ffffff; --ink: #1d2026; --muted: #5d6068; --line: #e2ddd3; --accent: #0b6159; --focus: #2563eb;
  --error: #b3261e; --code: #f3f0ea;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --serif: "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, "Times New Roman", serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) { :root {${dark} } }
* { box-sizing: border-box; margin: 0; }
[hidden] { display: none !important; }
body { background: var(--paper); color: var(--ink); font: 16px/1.6 var(--sans); -webkit-text-size-adjust: 100%; }
main { width: min(100% - 40px, 760px); margin: 0 auto; padding: clamp(32px, 7vw, 72px) 0 96px; }
h1, h2 { text-wrap: balance; line-height: 1.2; letter-spacing: -.012em; }
p, dd, li { text-wrap: pretty; overflow-wrap: break-word; }
a { color: var(--accent); text-underline-offset: 3px; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 3px; border-radius: 3px; }
h1 + p { margin-top: 12px; }
code, pre { font-family: var(--mono); font-size: .875em; }
.muted { color: var(--muted); }
.small { font-size: 14px; }
[role=alert] {
  padding: 12px 16px; border-left: 4px solid var(--error); border-radius: 4px;
  background: color-mix(in oklab, var(--card), var(--error) 10%);
}
[role=alert]:empty { display: none; }
`)

export const welcomeStyle = inline(`
.mark { display: flex; align-items: center; gap: 10px; font-weight: 650; letter-spacing: -.01em; }
.mark svg { width: 28px; height: 28px; }
h1 { margin-top: 28px; font-size: clamp(28px, 5vw, 38px); font-weight: 680; }
.lead { margin-top: 14px; font-size: 18px; color: var(--muted); max-width: 56ch; }
.lead code { color: var(--ink); }
.links { display: flex; flex-wrap: wrap; gap: 12px; margin-top: 28px; padding: 0; list-style: none; }
.links a {
  display: block; padding: 10px 18px; border: 1px solid var(--line); border-radius: 999px; background: var(--card);
  color: var(--ink); font-weight: 550; font-size: 15px; text-decoration: none;
}
.links a:hover { border-color: var(--ink); }
.links .first { background: var(--accent); border-color: var(--accent); color: var(--paper); }
.links .first:hover { border-color: var(--ink); }
section { margin-top: 56px; }
h2 { font-size: 21px; font-weight: 650; }
section > p { margin-top: 8px; max-width: 62ch; }
dl { margin-top: 18px; padding: 6px 20px; border: 1px solid var(--line); border-radius: 12px; background: var(--card); }
dl div { display: grid; grid-template-columns: 9.5em 1fr; gap: 2px 16px; padding: 10px 0; }
dl div + div { border-top: 1px solid var(--line); }
dt { color: var(--muted); font-size: 14px; line-height: 24px; }
dd { min-width: 0; }
dd code { user-select: all; overflow-wrap: anywhere; }
pre {
  margin-top: 18px; padding: 16px 20px; border-radius: 12px; background: var(--code); line-height: 1.65;
  white-space: pre-wrap; overflow-wrap: anywhere;
}
.outbox { margin-top: 18px; padding: 0; list-style: none; border: 1px solid var(--line); border-radius: 12px; background: var(--card); }
.outbox li { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 16px; padding: 12px 20px; }
.outbox li + li { border-top: 1px solid var(--line); }
.outbox .to { flex: 1 1 220px; min-width: 0; overflow-wrap: anywhere; }
.outbox .code { font-family: var(--mono); font-weight: 650; font-size: 17px; letter-spacing: .06em; user-select: all; }
@media (max-width: 560px) { dl div { grid-template-columns: 1fr; } dt { line-height: 1.4; } dl, pre, .outbox li { padding-inline: 16px; } }
`)

export const shopStyle = inline(`
main { width: min(100% - 40px, 640px); padding-top: 28px; }
.masthead { padding-bottom: 18px; border-bottom: 3px double var(--line); text-align: center; }
.masthead p { font: 700 clamp(26px, 6vw, 34px)/1.1 var(--serif); letter-spacing: -.01em; }
article { margin-top: clamp(32px, 7vw, 56px); }
.kicker { color: var(--accent); font-size: 13px; font-weight: 650; letter-spacing: .08em; text-transform: uppercase; }
h1 { margin-top: 8px; font: 700 clamp(30px, 7vw, 44px)/1.12 var(--serif); }
.standfirst { margin-top: 16px; font: 400 20px/1.45 var(--serif); color: var(--muted); }
.text { margin-top: 28px; font: 400 19px/1.65 var(--serif); }
.text p + p { margin-top: 1em; }
.locked .text p:last-of-type { mask-image: linear-gradient(#000, rgb(0 0 0 / .18)); }
.offer { margin-top: 32px; padding: 24px; border: 1px solid var(--line); border-radius: 14px; background: var(--card); }
.offer h2 { font-size: 19px; font-weight: 650; }
.offer p { margin-top: 6px; }
.offer #pay { margin-top: 18px; min-height: 48px; }
.offer #pay iframe { display: block; }
.offer [role=alert] { margin-top: 18px; }
.hint { margin-top: 16px !important; padding-top: 14px; border-top: 1px solid var(--line); }
.hint code { user-select: all; overflow-wrap: anywhere; color: var(--ink); }
#rest { margin-top: 1em; }
#rest:focus { outline: none; }
.receipt { margin-top: 32px; padding-top: 14px; border-top: 1px solid var(--line); }
footer { margin-top: 56px; }
@media (prefers-reduced-motion: no-preference) { #rest p { animation: appear .5s ease-out both; } @keyframes appear { from { opacity: 0; } } }
`)
