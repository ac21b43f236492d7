import { inline } from '../../src/http/pages/html.js'
import { commonCss, paperCss, phoneCss } from '../shop/css.js'

export const pagesStyle = inline(commonCss)

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

export const shopStyle = inline(`${paperCss}
main { width: min(100% - 40px, 640px); padding-top: 28px; }
.offer #pay { margin-top: 18px; min-height: 48px; }
.offer #pay iframe { display: block; }
.hint { margin-top: 16px !important; padding-top: 14px; border-top: 1px solid var(--line); }
#rest { margin-top: 1em; }
#rest:focus { outline: none; }
footer { margin-top: 56px; }
@media (prefers-reduced-motion: no-preference) { #rest p { animation: appear .5s ease-out both; } @keyframes appear { from { opacity: 0; } } }
`)

export const phoneStyle = inline(`${phoneCss}
main { width: min(100% - 40px, 340px); padding-top: 28px; }
.phone { height: min(680px, 100vh - 120px); }
#phone { display: contents; }
[role=status]:not(:empty) { margin-bottom: 10px; font-weight: 600; font-size: 14px; }
[role=alert], .connect, .quiet, .pushes { margin-bottom: 14px; }
.connect .primary { margin-top: 10px; }
.pushes li { border-color: var(--accent); }
.answers { display: flex; gap: 8px; margin-top: 10px; }
.answers button { flex: 1; }
footer { margin-top: 28px; text-align: center; }
`)
