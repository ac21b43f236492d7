import { commonCss } from '../shop/css.js'

/** The style sheet of the workbench. */
export const workbenchCss = `${commonCss}
:root { --wide: 1500px; --good: #1a7f4b; --accent-text: var(--paper); }
@media (prefers-color-scheme: dark) { :root { --good: #5fd39a; } }
body { font-size: 15px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
button, select, input, .quiet {
  padding: 5px 12px; border: 1px solid var(--line); border-radius: 8px; background: var(--card); color: var(--ink); font: 500 14px/1.4 var(--sans);
}
button, select, .quiet { cursor: pointer; text-decoration: none; }
button:hover, .quiet:hover { border-color: var(--ink); }
.quiet { padding: 3px 10px; font-size: 13px; }
input:not([type=checkbox]) { min-width: 0; }
.primary { background: var(--accent); border-color: var(--accent); color: var(--accent-text); }
.bad { color: var(--error); }
.good { color: var(--good); }
.acts, .filters { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; }
.tag {
  display: inline-block; padding: 1px 8px; border: 1px solid var(--line); border-radius: 999px; background: var(--card); font-size: 12.5px; text-decoration: none;
}
.bar {
  display: flex; flex-wrap: wrap; align-items: center; gap: 6px 16px; padding: 10px 20px; border-bottom: 1px solid var(--line); background: var(--card); font-size: 14px;
}
.bar p { display: flex; flex-wrap: wrap; align-items: center; gap: 6px; }
.brand { font-weight: 650; font-size: 16px; letter-spacing: -.01em; }
.coin svg { display: block; width: 24px; height: 24px; }
.address code { user-select: all; overflow-wrap: anywhere; }
.light { font-variant-numeric: tabular-nums; }
.states { margin-left: auto; }
.bar .quiet, .bar select { padding: 2px 9px; font-size: 13px; }
.bar select { width: 118px; }
.bar .tag { line-height: 1.5; }
@media (min-width: 1540px) { .bar, nav.views { padding-inline: calc((100% - var(--wide)) / 2); } }
@media (min-width: 2400px) { :root { --wide: 1800px; } body { zoom: 1.25; } }
@media (min-width: 3400px) { body { zoom: 1.6; } }
@media (max-width: 760px) {
  .bar { gap: 6px 14px; padding: 8px 16px; }
  .bar p { flex-wrap: nowrap; max-width: 100%; overflow-x: auto; scrollbar-width: none; white-space: nowrap; }
  .bar .states { margin-left: 0; }
  .brand .muted { display: none; }
}
.views {
  display: flex; gap: 2px; align-items: center; padding: 0 12px; border-bottom: 1px solid var(--line); background: var(--card); overflow-x: auto; position: sticky; top: 0; z-index: 1;
}
.views a { padding: 10px 12px; color: var(--muted); font-weight: 550; text-decoration: none; white-space: nowrap; }
.views a:hover { color: var(--ink); }
.views a[aria-current] { color: var(--ink); box-shadow: inset 0 -2px var(--accent); }
.views a:focus-visible { outline-offset: -4px; }
.views button { margin-left: auto; white-space: nowrap; }
.count { margin-left: 6px; padding: 0 6px; border-radius: 999px; background: var(--code); font-size: 12px; }
kbd { font: 500 12px var(--sans); color: var(--muted); }
main { width: min(100% - 32px, var(--wide)); padding: 20px 0 80px; }
main > section + section { margin-top: 40px; }
h2 { font-size: 19px; font-weight: 650; }
section > h2 ~ h2 { margin-top: 28px; }
input { accent-color: var(--accent); }
h3 { margin-top: 20px; font-size: 15px; font-weight: 650; }
section > * + * { margin-top: 12px; }
.filters input[type=search] { flex: 1 1 200px; max-width: 420px; }
.filters label { font-size: 14px; }

.split { display: grid; grid-template-columns: minmax(0, 1fr); gap: 24px; }
@media (min-width: 1000px) { .split.open { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); } }
@media (max-width: 999px) { .split.open > :first-child { display: none; } }
@media (min-width: 1000px) { .split.beside { grid-template-columns: minmax(0, 1fr) 340px; } }
@media (max-width: 999px) { .split.beside > .failures { order: -1; } }
.failures { align-self: start; min-width: 0; }
@media (min-width: 1000px) { .failures { position: sticky; top: 60px; max-height: calc(100vh - 80px); overflow: auto; } }
.failures ol { padding: 0; list-style: none; border: 1px solid var(--line); border-radius: 10px; background: var(--card); overflow: hidden; }
.failures li + li { border-top: 1px solid var(--line); }
.failures li a { display: block; padding: 8px 14px; color: var(--ink); text-decoration: none; }
.failures li a:hover { background: var(--code); }
.failures li a:focus-visible { outline-offset: -3px; }
.failures .row { display: flex; justify-content: space-between; align-items: baseline; gap: 10px; }
.failures .row > :first-child { min-width: 0; overflow-wrap: anywhere; }
.failures .row time, .failures .row .count { flex: none; }
.count.bad { background: color-mix(in oklab, var(--card), var(--error) 12%); }
.stories { padding: 0; list-style: none; }
.story { padding: 12px 16px; border: 1px solid var(--line); border-left: 4px solid var(--good); border-radius: 10px; background: var(--card); }
.story + .story { margin-top: 10px; }
.story.refused { border-left-color: var(--error); }
.who { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 12px; }
.who strong { overflow-wrap: anywhere; }
time { color: var(--muted); font-size: 13px; font-variant-numeric: tabular-nums; white-space: nowrap; }
.steps { margin-top: 4px; line-height: 1.9; }
.arrow { margin: 0 8px; color: var(--muted); }
.step { color: var(--ink); text-decoration-color: var(--line); }
.step.bad { color: var(--error); font-weight: 600; }
.step.effect { color: var(--muted); text-decoration: none; }
.step[aria-current] { background: var(--code); border-radius: 4px; padding: 1px 4px; }
.detail { align-self: start; padding: 16px; border: 1px solid var(--line); border-radius: 10px; background: var(--card); min-width: 0; }
@media (min-width: 1000px) { .detail { position: sticky; top: 60px; max-height: calc(100vh - 80px); overflow: auto; } }
.detail h2 { overflow-wrap: anywhere; }
.status { font-size: 14px; overflow-wrap: anywhere; }
.why { padding: 14px 16px; border-radius: 8px; background: var(--code); }
.why p + p { margin-top: 8px; }
.headers { font: 13px/1.6 var(--mono); }
.headers div { display: grid; grid-template-columns: minmax(8em, auto) 1fr; gap: 12px; }
.headers dt { color: var(--muted); }
.headers dd { overflow-wrap: anywhere; }
pre { padding: 12px 14px; border-radius: 8px; background: var(--code); font-size: 13px; line-height: 1.55; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
.snippet { position: relative; max-width: 960px; }
pre code { font-size: 1em; }
.snippet button { position: absolute; top: 6px; right: 6px; }
.snippet pre { padding-right: 84px; }

.empty { max-width: 620px; margin: 8vh auto; text-align: center; }
.empty > * + * { margin-top: 14px; }
.empty .snippet { text-align: left; }

.mails { padding: 0; list-style: none; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); gap: 12px; align-items: start; }
.mails li { padding: 12px 16px; border: 1px solid var(--line); border-radius: 10px; background: var(--card); overflow-wrap: anywhere; }
.code { display: flex; align-items: center; gap: 12px; }
.digits { font: 650 28px/1.3 var(--mono); letter-spacing: .06em; user-select: all; }
p.digits { font-size: 22px; letter-spacing: 0; }
.text { white-space: pre-wrap; font-size: 14px; margin-top: 6px; }
summary { cursor: pointer; font-size: 13px; color: var(--muted); }
.phones { display: flex; gap: 12px; padding: 0 0 6px; list-style: none; overflow-x: auto; }
.phone { flex: 0 0 240px; padding: 14px 16px; border: 1px solid var(--line); border-radius: 20px; background: var(--card); }
.phone h3 { margin: 0; overflow-wrap: anywhere; }
.phone > * + * { margin-top: 10px; }
.question { padding: 10px; border: 1px solid var(--accent); border-radius: 10px; }
.question .acts { margin-top: 8px; }
.field { display: grid; gap: 4px; max-width: 420px; }
.field span { font-size: 13px; color: var(--muted); }
.field select, .field input { width: 100%; }

.data { display: grid; grid-template-columns: 170px minmax(0, 1fr); gap: 24px; }
.data nav ul { padding: 0; list-style: none; }
.data nav ul + ul { margin-top: 14px; padding-top: 14px; border-top: 1px solid var(--line); font-size: 13px; }
.data nav a { display: block; padding: 4px 10px; border-radius: 6px; color: var(--ink); text-decoration: none; text-transform: capitalize; }
.data nav a:hover { background: var(--code); }
.data nav a[aria-current] { background: var(--code); font-weight: 600; }
.data > div > section { margin-top: 16px; }
@media (max-width: 760px) {
  .data { grid-template-columns: minmax(0, 1fr); }
  .data nav { overflow-x: auto; display: flex; gap: 12px; }
  .data nav ul { display: flex; }
  .data nav ul + ul { margin: 0; padding: 0 0 0 12px; border: 0; border-left: 1px solid var(--line); }
  .data nav a { white-space: nowrap; }
}
.scrolls { position: relative; overflow-x: auto; border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
th, td { padding: 7px 12px; text-align: left; white-space: nowrap; }
.why td, .why th { white-space: normal; overflow-wrap: anywhere; vertical-align: top; }
thead th { color: var(--muted); font-weight: 550; font-size: 13px; border-bottom: 1px solid var(--line); text-transform: capitalize; }
table a { text-decoration-color: var(--line); }
tbody tr + tr { border-top: 1px solid var(--line); }
tbody th { font-weight: 550; }
.data tbody tr { cursor: pointer; }
.data tbody tr:hover { background: var(--code); }
.amount { text-align: right; font-variant-numeric: tabular-nums; }
.facts > div { display: grid; grid-template-columns: 190px minmax(0, 1fr); gap: 4px 16px; padding: 7px 0; }
.facts > div + div { border-top: 1px solid var(--line); }
.facts dt { color: var(--muted); overflow-wrap: anywhere; }
.facts dd { overflow-wrap: anywhere; }
@media (max-width: 560px) { .facts > div { grid-template-columns: 1fr; } }
.plain { padding: 0; list-style: none; }
.plain li { padding: 6px 0; overflow-wrap: anywhere; }
.plain li + li { border-top: 1px solid var(--line); }
.inline { display: flex; align-items: center; gap: 8px; }
.inline span { color: var(--muted); }
.inline select { max-width: 60vw; }
.filters .inline select { max-width: min(60vw, 360px); }
.changes { border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
.changes summary { padding: 8px 14px; font-size: 14px; color: var(--ink); }
.changes summary span { margin-left: 8px; font-variant-numeric: tabular-nums; }
.changes ul { padding: 0 14px 8px; font-size: 14px; }
.change { margin-left: 10px; }
del { color: var(--error); text-decoration-thickness: 1px; }
ins { color: var(--good); text-decoration: none; }
button:disabled { color: var(--muted); cursor: default; border-color: var(--line); }
td.acts { flex-wrap: nowrap; }
.flow { display: block; width: min(100%, 760px); font: 13px var(--sans); }
.flow text { fill: var(--ink); }
.flow .sum { font-weight: 600; paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
.flow path { fill: none; stroke: var(--accent); stroke-opacity: .35; }
.curve { display: block; width: 100%; height: 90px; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
.curve path { fill: none; stroke: var(--accent); stroke-width: 2; vector-effect: non-scaling-stroke; }
.element { max-width: 560px; min-height: 60px; }
table.matrix { width: auto; }
.scrolls:has(> .matrix) { width: fit-content; max-width: 100%; max-height: 80vh; overflow: auto; isolation: isolate; }
.split section[aria-label=Findings] { margin-top: 24px; }
.matrix thead th { position: sticky; top: 0; z-index: 1; border: 0; background: var(--card); box-shadow: inset 0 -1px var(--line); text-align: center; text-transform: none; }
.matrix thead th:first-child { z-index: 2; text-align: left; }
@media (max-width: 700px) { .matrix th { padding-inline: 8px; white-space: normal; } }
.word { display: inline-block; max-width: 100%; overflow-wrap: anywhere; }
.matrix th:first-child { position: sticky; left: 0; background: var(--card); }
.matrix td { padding: 3px; text-align: center; }
.matrix td a { display: block; min-width: 44px; padding: 5px 8px; border-radius: 6px; color: var(--muted); text-decoration: none; font-weight: 600; }
.matrix td a:hover { outline: 1px solid var(--line); }
.matrix .passed a { color: var(--good); }
.matrix .failed a { color: var(--error); background: color-mix(in oklab, var(--card), var(--error) 12%); }
.matrix td a[aria-current] { box-shadow: inset 0 0 0 2px currentColor; }
.calls { white-space: pre; overflow-wrap: normal; }
.found { padding: 0 14px 12px; }
.found > * + * { margin-top: 8px; }
.file { position: relative; overflow: hidden; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
.file:focus-within { outline: 2px solid var(--accent); outline-offset: 2px; }
.file input { position: absolute; inset: 0; opacity: 0; cursor: pointer; }
.switches { padding: 0; list-style: none; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 420px), 1fr)); gap: 12px; }
.switches li { padding: 14px 16px; border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
.switches .tag { margin-left: 8px; }
.switches details { margin-top: 6px; }

.said {
  position: fixed; bottom: 18px; left: 50%; translate: -50% 0; max-width: min(90vw, 620px); padding: 10px 18px; border: 1px solid var(--line); border-radius: 10px;
  background: var(--card); box-shadow: 0 10px 30px -12px #0007; overflow-wrap: anywhere; z-index: 2;
}
.said:empty { display: none; }
.said.bad { border-color: var(--error); }
dialog { width: min(100% - 32px, 440px); margin: 12vh auto auto; padding: 22px; border: 1px solid var(--line); border-radius: 14px; background: var(--card); color: var(--ink); }
dialog::backdrop { background: rgb(12 16 22 / .5); }
dialog form > * + * { margin-top: 14px; }
dialog .acts { justify-content: flex-end; }
.palette { width: min(100% - 32px, 560px); padding: 8px; }
.palette input { width: 100%; padding: 10px 12px; font-size: 16px; border: 0; }
.palette [role=option] { padding: 8px 12px; border-radius: 6px; cursor: pointer; }
.palette [aria-selected=true], .palette [role=option]:hover { background: var(--code); }
`
