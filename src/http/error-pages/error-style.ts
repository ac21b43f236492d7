import { inline } from '../pages/html.js'

/** The looks of the pages that explain errors, beside `cardStyle`. */
export const errorStyle = inline(`
main { width: min(720px, 100%); padding: 40px; }
h1 { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 26px; letter-spacing: 0; }
h1.words { font-family: inherit; }
.kicker { color: var(--muted); font-size: 14px; }
.kicker + h1 { margin-top: 4px; }
h1 ~ p, h1 ~ ul { margin-top: 12px; }
.lead { font-size: 18px; }
h2 { margin-top: 32px; font-size: 16px; font-weight: 650; }
h2 ~ p, h2 ~ ul { margin-top: 8px; }
ul { padding-left: 20px; }
li + li { margin-top: 8px; }
code {
  padding: 1px 5px; border-radius: 5px; background: color-mix(in oklab, var(--card), var(--text) 7%);
  font: .9em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere;
}
a { color: inherit; text-underline-offset: 3px; }
dl { margin-top: 8px; border-top: 1px solid var(--line); }
dl > div { padding: 10px 0; border-bottom: 1px solid var(--line); }
dt { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: baseline; }
dd { margin: 2px 0 0; }
.muted { font-size: 14px; }
pre {
  margin-top: 8px; padding: 12px 14px; border: 1px solid var(--line); border-radius: 10px;
  font: 14px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
}
details { margin-top: 8px; }
summary { min-height: 32px; padding: 4px 0; cursor: pointer; }
.plain { padding: 0; list-style: none; }
nav { margin-top: 32px; padding-top: 16px; border-top: 1px solid var(--line); font-size: 14px; }
@media (max-width: 480px) { body { padding: 0; place-items: stretch; } main { padding: 24px 20px; border: 0; border-radius: 0; } }
`)
