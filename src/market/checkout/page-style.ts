import { inline } from '../../http/pages/html.js'

export const pageStyle = inline(`
.kicker { color: var(--muted); font-size: 14px; }
.kicker + h1 { margin-top: 2px; }
.price {
  margin-top: 20px; padding: 14px 16px; border: 1px solid var(--line); border-radius: 10px;
  font-size: 20px; font-weight: 650; font-variant-numeric: tabular-nums;
}
.balance { font-weight: 600; font-variant-numeric: tabular-nums; }
h2, legend { padding: 0; font-size: 14px; font-weight: 600; }
dl { margin-top: 16px; border-top: 1px solid var(--line); }
dl div { display: flex; flex-wrap: wrap; gap: 2px 16px; justify-content: space-between; padding: 8px 0; border-bottom: 1px solid var(--line); }
dt { color: var(--muted); font-size: 14px; }
dd { min-width: 0; margin: 0; font-variant-numeric: tabular-nums; }
fieldset { min-width: 0; padding: 0; border: 0; }
.choice { display: grid; grid-template-columns: 20px 1fr; gap: 0 12px; align-items: start; padding: 8px 0; margin: 0; font-size: 16px; font-weight: 400; }
.choice .muted { grid-column: 2; }
input[type=radio] { width: 20px; height: 20px; margin: 2px 0 0; accent-color: var(--primary); }
h2 { margin-top: 24px; }
pre {
  margin-top: 6px; padding: 12px 14px; border: 1px solid var(--line); border-radius: 10px;
  font: 14px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
}
.done h1 { color: var(--good); }
.onward {
  display: block; min-height: 48px; padding: 11px 16px; border-radius: 10px; background: var(--primary); color: var(--on-primary);
  font-weight: 600; text-align: center; text-decoration: none;
}
.more a { font-size: 14px; }
`)
