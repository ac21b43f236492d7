import { inline } from './html.js'

/** What pages that ask people something alone look like: a card in the middle. Each adds its own style. */
export const cardStyle = inline(`
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
h1 { font-size: 24px; font-weight: 650; line-height: 1.25; letter-spacing: -.01em; }
.muted { color: var(--muted); font-size: 14px; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
`)
