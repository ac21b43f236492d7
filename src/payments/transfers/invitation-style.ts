import { inline } from '../../http/pages/html.js'

export const invitationStyle = inline(`
.kicker { color: var(--muted); font-size: 14px; }
.kicker + h1 { margin-top: 2px; }
h1 ~ .wallet { margin-top: 0; }
figure { margin-top: 20px; }
figcaption { color: var(--muted); font-size: 14px; }
blockquote { margin-top: 4px; padding: 2px 0 2px 14px; border-left: 4px solid var(--line); }
.balance { margin-top: 20px; padding: 14px 16px; border: 1px solid var(--line); border-radius: 10px; font-weight: 600; font-variant-numeric: tabular-nums; }
.done h1 { color: var(--good); }
`)
