import { commonCss, paperCss, phoneCss } from '../shop/css.js'

export const demoCss = `${commonCss}${paperCss}${phoneCss}
html { scroll-behavior: smooth; scroll-padding: 24px 0 96px; }
main { width: auto; margin: 0; padding: 0; }

.notice { max-width: 620px; margin: 0 auto; padding: clamp(48px, 14vh, 140px) 20px; }
.notice .name { font: 700 clamp(26px, 6vw, 34px)/1.1 var(--serif); letter-spacing: -.01em; }
.notice h1 { margin-top: 28px; font: 650 24px/1.25 var(--sans); }
.notice p + p, .notice h1 + p { margin-top: 12px; }

#app { display: flex; flex-direction: column; min-height: 100vh; }
.desk {
  flex: 1; display: grid; align-content: start; grid-template-columns: minmax(0, 640px) 308px; justify-content: center; align-items: start;
  gap: clamp(40px, 6vw, 96px); width: min(100% - 40px, 1080px); margin: 0 auto; padding: 28px 0 56px;
}
.masthead nav { display: flex; justify-content: center; gap: 22px; margin-top: 12px; font-size: 14px; }
.paper [role=alert] { margin-top: 18px; }
.rest:nth-child(3) { margin-top: 1em; }
.pay { margin-top: 18px; min-height: 48px; }
.hint { margin-top: 16px !important; padding-top: 14px; border-top: 1px solid var(--line); }
.item {
  display: grid; grid-template-columns: 96px minmax(0, 1fr); gap: 28px; margin-top: 56px; padding-top: 36px; border-top: 1px solid var(--line);
}
.item h2 { margin-top: 4px; font: 700 26px/1.2 var(--serif); }
.item .muted { margin-top: 6px; }
.item .receipt { margin-top: 16px; padding: 0; border: 0; }
.item .receipt:empty { display: none; }
.picture { width: 96px; height: 96px; }
.player { display: flex; align-items: center; gap: 16px; margin-top: 18px; min-height: 48px; }
.track { flex: 1; height: 4px; border-radius: 2px; background: var(--line); overflow: hidden; }
.track div { height: 100%; background: var(--accent); animation: fill linear both; }
@keyframes fill { from { width: 0; } to { width: 100%; } }
.till { margin-top: 56px; padding: 14px 0; border-block: 1px solid var(--line); }
.till summary { font-size: 14px; font-weight: 550; cursor: pointer; }
.till .balance { margin-top: 14px; }

.balance { font-size: 22px; font-weight: 650; font-variant-numeric: tabular-nums; }
.balance .muted { display: block; font-weight: 400; }
.records { margin-top: 12px; padding: 0; list-style: none; }
.records li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 12px; padding: 10px 0; border-top: 1px solid var(--line); font-size: 14px; line-height: 1.45; }
.records .who { font-weight: 600; overflow-wrap: anywhere; }
.records .amount { font-weight: 600; font-variant-numeric: tabular-nums; }
.records time { font-size: 12.5px; }

.phone { position: sticky; top: 28px; height: min(640px, 100vh - 176px); }
.tabs { display: flex; border-top: 1px solid var(--line); }
.tabs button { flex: 1; padding: 13px 0 17px; border: 0; border-radius: 0; background: none; color: var(--muted); }
.tabs button[aria-selected=true] { color: var(--ink); box-shadow: inset 0 2px var(--accent); }
.tabs button:focus-visible { outline-offset: -6px; }

.toast {
  inset: 20px max(20px, 50vw - 540px) auto auto; width: 308px; padding: 14px 18px; border: 1px solid var(--line); border-radius: 18px;
  background: var(--card); color: var(--ink); box-shadow: 0 16px 40px -12px var(--shadow);
}

.bar {
  position: sticky; bottom: 0; display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 8px 24px;
  padding: 12px max(20px, 50vw - 540px); border-top: 1px solid var(--line); background: var(--card);
}
.bar > [role] { flex-basis: 100%; font-size: 14px; }
.bar > [role=status]:empty { display: none; }
.where { flex: 1 1 320px; color: var(--muted); }
.where strong { color: var(--ink); font-weight: 600; white-space: nowrap; }
.acts { display: flex; flex-wrap: wrap; gap: 8px; }
.button { position: relative; }
.button input { position: absolute; inset: 0; opacity: 0; font-size: 0; cursor: pointer; }
.button:focus-within:has(:focus-visible) { outline: 3px solid var(--focus); outline-offset: 3px; }
dialog {
  width: min(100% - 40px, 420px); margin: auto; padding: 24px; border: 1px solid var(--line); border-radius: 16px; background: var(--card); color: var(--ink);
}
dialog::backdrop { background: var(--shade); }
dialog h2 { font-size: 19px; font-weight: 650; }
dialog p { margin-top: 8px; }
dialog .acts, .notice .acts { margin-top: 20px; }
dialog .acts { justify-content: flex-end; }

@media (max-width: 960px) {
  .desk { grid-template-columns: minmax(0, 640px); }
  .phone { position: static; width: min(100%, 340px); height: 560px; margin: 0 auto; }
  .bar { position: static; }
  .toast { inset: 12px 12px auto; width: auto; max-width: 420px; margin: 0 auto; }
}
@media (max-width: 480px) {
  .item { grid-template-columns: minmax(0, 1fr); gap: 18px; }
  .picture { width: 72px; height: 72px; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
@media (prefers-reduced-motion: no-preference) {
  .rest { animation: appear .5s ease-out both; }
  .toast:popover-open { animation: arrive .25s ease-out both; }
  @keyframes appear { from { opacity: 0; } }
  @keyframes arrive { from { opacity: 0; transform: translateY(-12px); } }
}
`
