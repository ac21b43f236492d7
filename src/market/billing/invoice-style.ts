import { inline } from '../../http/pages/html.js'

export const invoiceStyle = inline(`
main { width: min(720px, 100%); padding: 40px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 4px 24px; }
.status { font-weight: 600; }
.settled { color: var(--good); }
.parties { display: flex; flex-wrap: wrap; gap: 20px 48px; margin-top: 28px; }
section { flex: 1 1 220px; min-width: 0; }
h2, dt, thead th { color: var(--muted); font-size: 14px; font-weight: 600; }
section p { min-height: 1em; }
dl { display: flex; flex-wrap: wrap; gap: 12px 40px; margin-top: 28px; }
dd { margin: 0; }
table { width: 100%; margin-top: 28px; border-collapse: collapse; }
th, td { padding: 12px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td .muted { display: block; }
.amount { padding-left: 24px; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tfoot th, tfoot td { border-bottom: 0; font-size: 20px; font-weight: 650; }
@media (max-width: 480px) { body { padding: 0; place-items: stretch; } main { padding: 24px 20px; border: 0; border-radius: 0; } }
@media print {
  :root {
    color-scheme: light;
    --ground: #ffffff; --card: #ffffff; --text: #000000; --muted: #444444; --line: #bbbbbb; --good: #000000;
  }
  body { display: block; min-height: 0; padding: 0; font-size: 12pt; }
  main { width: 100%; padding: 0; border: 0; border-radius: 0; }
  tr, section { break-inside: avoid; }
}
`)
