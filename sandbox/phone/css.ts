/** The drawn phone, its buttons included; where it stands on a page is the page's. */
export const phoneCss = `
:root { --bezel: #22262d; }
@media (prefers-color-scheme: dark) { :root { --bezel: #434a55; } }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
button, .button {
  padding: 8px 16px; border: 1px solid var(--line); border-radius: 999px; background: var(--card); color: var(--ink);
  font: 550 14px/1.4 var(--sans); cursor: pointer;
}
button:hover, .button:hover { border-color: var(--ink); }
.primary { background: var(--accent); border-color: var(--accent); color: var(--paper); }

.phone {
  display: flex; flex-direction: column; min-height: 420px;
  border: 9px solid var(--bezel); border-radius: 44px; background: var(--card); box-shadow: 0 0 0 1px #0003, 0 18px 44px -18px #0006; overflow: hidden;
}
.phone::before {
  content: ''; flex: none; width: 84px; height: 18px; margin: 8px auto 0; border-radius: 999px; background: var(--bezel);
}
.phone header { padding: 14px 20px 12px; border-bottom: 1px solid var(--line); }
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
