import { paletteCss } from '../../src/http/pages/palette.js'

export const commonCss = `${paletteCss}
:root {
  --paper: var(--ground); --ink: var(--text); --accent: var(--primary); --error: var(--bad);
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --serif: "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, "Times New Roman", serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
}
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
.coin svg { display: block; width: 28px; height: 28px; }
.small { font-size: 14px; }
[role=alert] {
  padding: 12px 16px; border-left: 4px solid var(--error); border-radius: 4px;
  background: color-mix(in oklab, var(--card), var(--error) 10%);
}
[role=alert]:empty { display: none; }
`

export const paperCss = `
.masthead { padding-bottom: 18px; border-bottom: 3px double var(--line); text-align: center; }
.masthead .coin svg { width: 36px; height: 36px; margin: 0 auto 8px; }
.masthead p { font: 700 clamp(26px, 6vw, 34px)/1.1 var(--serif); letter-spacing: -.01em; }
article { margin-top: clamp(32px, 7vw, 56px); }
.kicker { color: var(--accent); font-size: 13px; font-weight: 650; letter-spacing: .08em; text-transform: uppercase; }
h1 { margin-top: 8px; font: 700 clamp(30px, 7vw, 44px)/1.12 var(--serif); }
.standfirst { margin-top: 16px; font: 400 20px/1.45 var(--serif); color: var(--muted); }
.text { margin-top: 28px; font: 400 19px/1.65 var(--serif); }
.text p + p { margin-top: 1em; }
.locked .text p:last-of-type { mask-image: linear-gradient(var(--text), color-mix(in srgb, var(--text), transparent 82%)); }
.offer { margin-top: 32px; padding: 24px; border: 1px solid var(--line); border-radius: 14px; background: var(--card); }
.offer h2 { font-size: 19px; font-weight: 650; }
.offer p { margin-top: 6px; }
.offer [role=alert] { margin-top: 18px; }
.hint code { user-select: all; overflow-wrap: anywhere; color: var(--ink); }
.receipt { margin-top: 32px; padding-top: 14px; border-top: 1px solid var(--line); }
`

/** The drawn phone, its buttons included; where it stands on a page is the page's. */
export const phoneCss = `
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
button, .button {
  padding: 8px 16px; border: 1px solid var(--line); border-radius: 999px; background: var(--card); color: var(--ink);
  font: 550 14px/1.4 var(--sans); cursor: pointer;
}
button:hover, .button:hover { border-color: var(--ink); }
.primary { background: var(--accent); border-color: var(--accent); color: var(--on-primary); }

.phone {
  display: flex; flex-direction: column; min-height: 420px;
  border: 9px solid var(--bezel); border-radius: 44px; background: var(--card); box-shadow: 0 0 0 1px var(--line), 0 18px 44px -18px var(--shadow); overflow: hidden;
}
.phone::before {
  content: ''; flex: none; width: 84px; height: 18px; margin: 8px auto 0; border-radius: 999px; background: var(--bezel);
}
.phone header { padding: 14px 20px 12px; border-bottom: 1px solid var(--line); }
.phone header .coin { float: right; }
.phone :is(h1, h2) { font-size: 17px; font-weight: 650; }
.phone header p { display: flex; flex-wrap: wrap; align-items: center; gap: 2px 10px; margin: 0; }
.phone code { overflow-wrap: anywhere; }
.screen { flex: 1; min-height: 0; overflow: auto; padding: 16px 20px; }
.screen:focus-visible { outline-offset: -4px; }
.copy { padding: 1px 9px; font-size: 12.5px; color: var(--accent); }
.mails { padding: 0; list-style: none; }
.mails li { padding: 12px 14px; border: 1px solid var(--line); border-radius: 14px; background: var(--paper); }
.mails li + li { margin-top: 10px; }
.mails .empty { padding: 0; border: 0; background: none; font-size: 14.5px; }
.mails time { flex: none; font-size: 12.5px; }
.from { display: flex; justify-content: space-between; align-items: baseline; gap: 12px; font-size: 14px; }
.code { display: flex; align-items: center; gap: 12px; margin: 4px 0; }
.digits { font: 650 30px/1.25 var(--mono); letter-spacing: .08em; user-select: all; }
`
