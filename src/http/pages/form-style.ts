import { inline } from './html.js'

/** What forms on cards look like, beside `cardStyle`. */
export const formStyle = inline(`
h1 ~ p, form { margin-top: 16px; }
h1 + .muted { margin-top: 4px; }
form { display: grid; gap: 16px; }
label { display: block; margin-bottom: 6px; font-size: 14px; font-weight: 600; }
input[type=email], input[type=text] {
  width: 100%; min-height: 48px; padding: 8px 12px; border: 1px solid var(--edge); border-radius: 10px;
  background: transparent; color: inherit; font: inherit;
}
#code { font-size: 22px; letter-spacing: .3em; font-variant-numeric: tabular-nums; }
input[aria-invalid=true] { border-color: var(--bad); }
/* Enter presses the first button of a form: that which goes on. */
.actions { display: flex; flex-direction: row-reverse; flex-wrap: wrap; gap: 12px; margin-top: 8px; }
button { font: inherit; color: inherit; cursor: pointer; }
.actions button {
  flex: 1 1 140px; min-height: 48px; padding: 8px 16px; border: 1px solid var(--edge); border-radius: 10px;
  background: transparent; font-weight: 600;
}
.actions button:hover { background: color-mix(in oklab, var(--card), var(--text) 7%); }
.actions .go { border-color: transparent; background: var(--primary); color: var(--on-primary); }
.actions .go:hover { background: color-mix(in oklab, var(--primary), var(--on-primary) 12%); }
.more { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 20px; margin-top: 16px; }
.more button { min-height: 28px; padding: 0; border: 0; background: none; font-size: 14px; text-decoration: underline; text-underline-offset: 3px; }
[role=alert] {
  margin-top: 16px; padding: 10px 14px; border-left: 4px solid var(--bad); border-radius: 4px;
  background: color-mix(in oklab, var(--card), var(--bad) 10%);
}
a { color: inherit; text-underline-offset: 3px; }
@media (max-width: 480px) { body { padding: 0; place-items: stretch; } main { border: 0; border-radius: 0; } }
`)
