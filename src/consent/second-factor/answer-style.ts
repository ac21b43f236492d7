import { inline } from '../../http/pages/html.js'

export const answerStyle = inline(`
.kicker { color: var(--muted); font-size: 14px; }
h1 { margin-top: 2px; }
dl { margin-top: 20px; border-top: 1px solid var(--line); }
dl div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 20px; padding: 10px 0; border-bottom: 1px solid var(--line); }
dt { color: var(--muted); font-size: 14px; line-height: 24px; }
dd { font-weight: 600; font-variant-numeric: tabular-nums; }
figure { margin: 20px 0 0; }
figcaption { color: var(--muted); font-size: 14px; }
blockquote { margin: 8px 0 0; padding-left: 12px; border-left: 3px solid var(--line); overflow-wrap: anywhere; }
h1 ~ p { margin-top: 18px; }
.actions { display: flex; flex-wrap: wrap; gap: 12px; margin-top: 24px; }
button {
  flex: 1 1 140px; min-height: 48px; padding: 8px 16px; border: 1px solid var(--edge); border-radius: 10px;
  background: transparent; color: inherit; font: inherit; font-weight: 600; cursor: pointer;
}
button:hover { background: color-mix(in oklab, var(--card), var(--text) 7%); }
button[value=approve] { border-color: transparent; background: var(--primary); color: var(--on-primary); }
button[value=approve]:hover { background: color-mix(in oklab, var(--primary), var(--on-primary) 12%); }
.approved h1 { color: var(--good); }
.rejected h1 { color: var(--bad); }
`)
