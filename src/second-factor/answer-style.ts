import { inline } from '../http/html.js'

export const answerStyle = inline(`
:root {
  color-scheme: light dark;
  --ground: #eef1f3; --card: #ffffff; --text: #1c2430; --muted: #55606e; --line: #d5dbe1; --edge: #8792a0;
  --primary: #0f766e; --on-primary: #ffffff; --focus: #2563eb; --good: #0f766e; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12161c; --card: #1c2129; --text: #eceef2; --muted: #a9b2bf; --line: #343c48; --edge: #7a8594;
    --primary: #0d7d74; --on-primary: #ffffff; --focus: #8ab4ff; --good: #6fd6b4; --bad: #ff8a80;
  }
}
* { box-sizing: border-box; margin: 0; }
body {
  display: grid; place-items: center; min-height: 100vh; padding: 24px 16px; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; -webkit-text-size-adjust: 100%;
}
main {
  width: min(440px, 100%); padding: 28px; border: 1px solid var(--line); border-radius: 14px; background: var(--card);
  overflow-wrap: anywhere;
}
.kicker { color: var(--muted); font-size: 14px; }
h1 { margin-top: 2px; font-size: 24px; font-weight: 650; line-height: 1.25; letter-spacing: -.01em; }
dl { margin-top: 20px; border-top: 1px solid var(--line); }
dl div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 20px; padding: 10px 0; border-bottom: 1px solid var(--line); }
dt { color: var(--muted); font-size: 14px; line-height: 24px; }
dd { font-weight: 600; font-variant-numeric: tabular-nums; }
h1 ~ p { margin-top: 18px; }
.muted { color: var(--muted); font-size: 14px; }
.actions { display: flex; flex-wrap: wrap; gap: 12px; margin-top: 24px; }
button {
  flex: 1 1 140px; min-height: 48px; padding: 8px 16px; border: 1px solid var(--edge); border-radius: 10px;
  background: transparent; color: inherit; font: inherit; font-weight: 600; cursor: pointer;
}
button:hover { background: color-mix(in oklab, var(--card), var(--text) 7%); }
button[value=approve] { border-color: transparent; background: var(--primary); color: var(--on-primary); }
button[value=approve]:hover { background: color-mix(in oklab, var(--primary), var(--on-primary) 12%); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.approved h1 { color: var(--good); }
.rejected h1 { color: var(--bad); }
`)
