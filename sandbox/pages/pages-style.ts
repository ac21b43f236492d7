import { inline } from '../../src/http/pages/html.js'
import { commonCss, paperCss, phoneCss } from '../shop/css.js'

export const pagesStyle = inline(commonCss)

export const shopStyle = inline(`${paperCss}
main { width: min(100% - 40px, 640px); padding-top: 28px; }
.offer #pay { margin-top: 18px; min-height: 48px; }
.offer #pay iframe { display: block; }
.hint { margin-top: 16px !important; padding-top: 14px; border-top: 1px solid var(--line); }
#rest { margin-top: 1em; }
#rest:focus { outline: none; }
footer { margin-top: 56px; }
@media (prefers-reduced-motion: no-preference) { #rest p { animation: appear .5s ease-out both; } @keyframes appear { from { opacity: 0; } } }
`)

export const phoneStyle = inline(`${phoneCss}
main { width: min(100% - 40px, 340px); padding-top: 28px; }
.phone { height: min(680px, 100vh - 120px); }
#phone { display: contents; }
[role=status]:not(:empty) { margin-bottom: 10px; font-weight: 600; font-size: 14px; }
[role=alert], .connect, .quiet, .pushes { margin-bottom: 14px; }
.connect .primary { margin-top: 10px; }
.pushes li { border-color: var(--accent); }
.answers { display: flex; gap: 8px; margin-top: 10px; }
.answers button { flex: 1; }
footer { margin-top: 28px; text-align: center; }
`)
