import { inline } from '../../http/pages/html.js'

export const pageStyle = inline(`
.kicker { color: var(--muted); font-size: 14px; }
.kicker + h1 { margin-top: 2px; }
h2 { margin-top: 20px; font-size: 16px; font-weight: 600; }
.price { margin-top: 16px; font-size: 28px; font-weight: 650; font-variant-numeric: tabular-nums; }
dl { margin-top: 16px; border-top: 1px solid var(--line); }
dl > div { padding: 10px 0; border-bottom: 1px solid var(--line); }
dt { color: var(--muted); font-size: 14px; }
dd { margin: 2px 0 0; }
dd em { color: var(--muted); }
dd ul, dd ol { margin: 0; padding: 0; list-style: none; }
ul ul { padding-left: 16px; }
dd ol { padding-left: 24px; list-style: decimal; }
ol > li + li { margin-top: 8px; }
pre { margin: 4px 0 0; padding: 10px 12px; border: 1px solid var(--line); border-radius: 8px; font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.done h1 { color: var(--good); }
`)
