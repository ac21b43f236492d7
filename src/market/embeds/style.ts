import { parsedJson } from '../../base/json.js'
import { inline } from '../../http/pages/html.js'
import { colorsOf, palette } from '../../http/pages/palette.js'
import { isObject } from '../../storage/unknown.js'

export type Theme = 'light' | 'dark'

const cardOf = (theme: Theme): Color => fromHex(palette[theme].card.slice(1))
const backgrounds: Record<Theme, Color> = { light: cardOf('light'), dark: cardOf('dark') }

/** Turns a page's style values into custom properties. Each is parsed and written again, so that no CSS gets in. */
export function styleDeclarations(style: string | undefined, theme: Theme | undefined): string {
  const given = parseObject(style)
  const value = (name: string): string => (typeof given[name] === 'string' ? given[name].slice(0, MAX_VALUE) : '')
  const declarations = {
    ...textColors(parseColor(value('colorText')), parseColor(value('colorBackground')), theme),
    ...primaryColors(parseColor(value('colorPrimary'))),
    '--error': colorText(value('colorError')),
    '--success': colorText(value('colorSuccess')),
    '--warning': colorText(value('colorWarning')),
    '--radius': lengths(value('borderRadius'), { px: 40, em: 3, '%': 50 }),
    '--border': border(value('border')),
    '--font': fontFamily(value('fontFamily')),
    '--padding': lengths(value('padding'), { px: 40, em: 3 }),
    '--unit': lengths(value('spacingUnit'), { px: 12, em: 0.75 }, 1),
  }
  return Object.entries(declarations)
    .filter((pair): pair is [string, string] => pair[1] !== undefined)
    .map(([name, written]) => `${name}:${written};`)
    .join('')
}

const MAX_VALUE = 200

function parseObject(json: string | undefined): Readonly<Record<string, unknown>> {
  const value = json === undefined || json.length > 4096 ? undefined : parsedJson(json)
  return isObject(value) ? value : {}
}

const colorText = (text: string): string | undefined => {
  const color = parseColor(text)
  return color && hexColor(color)
}

/** Text colour with enough contrast to its background, so that no page can hide the price. */
function textColors(text: Color | undefined, background: Color | undefined, theme: Theme | undefined) {
  const behind = background ? [background] : theme ? [backgrounds[theme]] : Object.values(backgrounds)
  const fits = text !== undefined && behind.every((each) => contrast(text, each) >= 4.5)
  const ink = fits ? text : background && readableOn(background)
  return { '--text': ink && hexColor(ink), '--background': background && hexColor(background) }
}

const primaryColors = (primary: Color | undefined) =>
  primary ? { '--primary': hexColor(primary), '--on-primary': hexColor(readableOn(primary)) } : {}

/** Up to four lengths that are not negative and within the limit of their unit. */
function lengths(text: string, limits: { px: number; em: number; '%'?: number }, most = 4): string | undefined {
  const parts = text.trim().split(/\s+/)
  const written = parts.map((part) => length(part, limits))
  return parts.length <= most && written.every((each) => each !== undefined) ? written.join(' ') : undefined
}

function length(text: string, limits: { px: number; em: number; '%'?: number }): string | undefined {
  const [, digits, unit = 'px'] = /^(\d{1,3}(?:\.\d{1,3})?)(px|em|rem|%)?$/.exec(text) ?? []
  if (digits === undefined || (unit === 'px' && Number(digits) !== 0 && !text.endsWith('px'))) return undefined
  const limit = unit === 'px' ? limits.px : unit === '%' ? limits['%'] : limits.em
  return limit !== undefined && Number(digits) <= limit ? `${Number(digits)}${unit}` : undefined
}

function border(text: string): string | undefined {
  const found: { width?: string; line?: string; color?: string } = {}
  for (const part of text.match(/(?:rgb|hsl)a?\([^)]*\)|\S+/gi) ?? []) {
    const width = length(part, { px: 6, em: 0.4 })
    const line = /^(none|solid|dashed|dotted|double)$/.test(part) ? part : undefined
    const color = colorText(part)
    if (width !== undefined && !found.width) found.width = width
    else if (line !== undefined && !found.line) found.line = line
    else if (color !== undefined && !found.color) found.color = color
    else return undefined
  }
  const { width, line, color } = found
  return line === undefined ? undefined : [width, line, color].filter((part) => part !== undefined).join(' ')
}

const generic =
  /^(serif|sans-serif|monospace|cursive|fantasy|system-ui|ui-(serif|sans-serif|monospace|rounded)|-apple-system)$/

function fontFamily(text: string): string | undefined {
  const names = text.split(',').map((name) => name.trim().replace(/^(["'])(.*)\1$/, '$2'))
  if (names.length > 8 || !names.every((name) => /^[\p{L}\p{N}][\p{L}\p{N} _-]{0,40}$|^-apple-system$/u.test(name)))
    return undefined
  return names.map((name) => (generic.test(name) ? name : `"${name}"`)).join(',')
}

/** An opaque colour: red, green and blue from 0 to 255. */
type Color = readonly [red: number, green: number, blue: number]

/** Parses a CSS colour (name, hex, rgb() or hsl()). Returns undefined for anything else and for transparent colours. */
function parseColor(text: string): Color | undefined {
  const written = text.trim().toLowerCase()
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/.exec(written)?.[1] ?? named(written)
  if (hex !== undefined) return fromHex(hex)
  const [, model, parts = ''] = /^(rgb|hsl)a?\(([^()]{1,60})\)$/.exec(written) ?? []
  const [first = '', second = '', third = '', alpha = '1', ...more] = parts.trim().split(/\s*[,/]\s*|\s+/)
  if (model === undefined || more.length > 0 || !/^(1|1\.0+|100%)$/.test(alpha)) return undefined
  const color: Color =
    model === 'rgb'
      ? [channel(first), channel(second), channel(third)]
      : fromHsl(degrees(first), percent(second), percent(third))
  return color.every((each) => each >= 0 && each <= 255) ? color : undefined
}

const hexColor = (color: Color): string =>
  `#${color.map((each) => Math.round(each).toString(16).padStart(2, '0')).join('')}`

/** WCAG 2 contrast, from 1 to 21. */
function contrast(a: Color, b: Color): number {
  const [one, other] = [luminance(a), luminance(b)]
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
}

/** Returns black or white, whichever has more contrast with the colour. */
const readableOn = (color: Color): Color => (contrast(WHITE, color) >= contrast(BLACK, color) ? WHITE : BLACK)
const WHITE: Color = [255, 255, 255]
const BLACK: Color = [0, 0, 0]

function fromHex(hex: string): Color {
  const whole = hex.length === 3 ? hex.replace(/./g, '$&$&') : hex
  const byteAt = (at: number) => Number.parseInt(whole.slice(at, at + 2), 16)
  return [byteAt(0), byteAt(2), byteAt(4)]
}

const number = (text: string): number => (/^-?\d{1,4}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN)
const percent = (text: string): number => (text.endsWith('%') ? number(text.slice(0, -1)) / 100 : Number.NaN)
const channel = (text: string): number => (text.endsWith('%') ? percent(text) * 255 : number(text))
const degrees = (text: string): number => number(text.replace(/deg$/, ''))

/** CSS Color 4, section 7.1. */
function fromHsl(hue: number, saturation: number, lightness: number): Color {
  if (!(saturation >= 0 && saturation <= 1)) return [Number.NaN, Number.NaN, Number.NaN]
  const swing = saturation * Math.min(lightness, 1 - lightness)
  const channelAt = (offset: number) => {
    const turn = (((offset + hue / 30) % 12) + 12) % 12
    return 255 * (lightness - swing * Math.max(-1, Math.min(turn - 3, 9 - turn, 1)))
  }
  return [channelAt(0), channelAt(8), channelAt(4)]
}

const luminance = ([red, green, blue]: Color): number =>
  0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)

function linear(channel: number): number {
  const part = channel / 255
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
}

const named = (name: string): string | undefined => (/^[a-z]+$/.test(name) ? names.get(name) : undefined)

/** All named colours of CSS Color 4. */
const names = new Map(
  `
  aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4
  black 000000 blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue 5f9ea0
  chartreuse 7fff00 chocolate d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff
  darkblue 00008b darkcyan 008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9
  darkkhaki bdb76b darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred 8b0000
  darksalmon e9967a darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f
  darkturquoise 00ced1 darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969
  dodgerblue 1e90ff firebrick b22222 floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc
  ghostwhite f8f8ff gold ffd700 goldenrod daa520 gray 808080 green 008000 greenyellow adff2f grey 808080
  honeydew f0fff0 hotpink ff69b4 indianred cd5c5c indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa
  lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6 lightcoral f08080 lightcyan e0ffff
  lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 lightpink ffb6c1
  lightsalmon ffa07a lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 lightslategrey 778899
  lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6 magenta ff00ff maroon 800000
  mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3 mediumpurple 9370db mediumseagreen 3cb371
  mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc mediumvioletred c71585 midnightblue 191970
  mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080 oldlace fdf5e6 olive 808000
  olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa palegreen 98fb98
  paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru cd853f pink ffc0cb plum dda0dd
  powderblue b0e0e6 purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f royalblue 4169e1
  saddlebrown 8b4513 salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna a0522d silver c0c0c0
  skyblue 87ceeb slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa springgreen 00ff7f steelblue 4682b4
  tan d2b48c teal 008080 thistle d8bfd8 tomato ff6347 turquoise 40e0d0 violet ee82ee wheat f5deb3 white ffffff
  whitesmoke f5f5f5 yellow ffff00 yellowgreen 9acd32`
    .trim()
    .split(/(?<=\s[0-9a-f]{6})\s+/)
    .map((pair): [string, string] => {
      const [name = '', hex = ''] = pair.split(' ')
      return [name, hex]
    }),
)

const dark = `${colorsOf('dark')} --scheme: dark;`

/** Style of all embeds. Custom properties that a page sets come after it (style.ts). */
export const embedStyle = inline(`
@layer defaults {
  :root {
    ${colorsOf('light')} --scheme: light;
    --background: var(--card); --error: var(--bad); --success: var(--good);
    --radius: 10px; --border: 0 solid transparent; --padding: 6px 12px; --unit: 4px;
    --font: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  }
  :root[data-theme=dark] {${dark} }
  @media (prefers-color-scheme: dark) { :root:not([data-theme]) {${dark} } }
}
/* Whatever the theme: a frame whose scheme is not that of its element would not be transparent. */
:root { color-scheme: light; }
* { box-sizing: border-box; margin: 0; }
strong { display: block; }
[hidden] { display: none !important; }
body { overflow: hidden; color: var(--text); font: 15px/1.45 var(--font); -webkit-text-size-adjust: 100%; }
button, input { font: inherit; color: inherit; }
button { cursor: pointer; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
h1, p, button { overflow-wrap: break-word; min-width: 0; }

#open {
  display: flex; align-items: center; justify-content: center; gap: .3em; width: 100%; min-height: 48px;
  padding: var(--padding); border: var(--border); border-radius: var(--radius);
  background: var(--primary); color: var(--on-primary); font-weight: 600; line-height: 1.25; text-align: center;
}
#open:hover { background: color-mix(in oklab, var(--primary), var(--on-primary) 12%); }
#open:active { background: color-mix(in oklab, var(--primary), var(--on-primary) 20%); }
#open:focus-visible { outline-color: var(--on-primary); outline-offset: -6px; }
#open.paid { box-shadow: inset 0 0 0 3px var(--success); }
#open.measured { width: max-content; max-width: 320px; min-width: 137px; }
#open.wide.measured { min-width: 171px; }
#receipt {
  display: grid; align-content: center; min-height: 48px; padding: 4px 14px; border: 1px solid color-mix(in oklab, var(--background), var(--text) 20%);
  border-radius: var(--radius); background: var(--background); line-height: 1.3; overflow-wrap: anywhere;
}
#receipt strong::before { content: '✓ '; color: var(--success); }
#receipt:focus-visible { outline-offset: -3px; }
#receipt.measured { width: max-content; max-width: 320px; min-width: 137px; }
.amount { font-variant-numeric: tabular-nums; white-space: nowrap; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.notice { display: grid; place-items: center; min-height: 48px; padding: 4px 8px; font-size: 13px; text-align: center; background: var(--background); border-radius: 6px; }

dialog {
  color-scheme: var(--scheme); width: min(400px, 100% - 32px); max-width: none; max-height: calc(100dvh - 32px);
  margin: auto; padding: calc(var(--unit) * 6) calc(var(--unit) * 7) calc(var(--unit) * 7);
  border: 1px solid color-mix(in oklab, var(--background), var(--text) 12%); border-radius: max(var(--radius), 10px);
  background: var(--background); color: var(--text); box-shadow: 0 24px 64px var(--shadow); overflow: auto;
}
dialog::backdrop { background: var(--shade); }
header { padding-bottom: calc(var(--unit) * 5); border-bottom: 1px solid color-mix(in oklab, var(--background), var(--text) 12%); }
.coin { float: right; margin-left: 12px; }
.coin svg { display: block; width: 24px; height: 24px; }
h1 { font-size: 17px; font-weight: 650; line-height: 1.3; letter-spacing: -.005em; }
.muted { color: color-mix(in oklab, var(--text), var(--background) 28%); font-size: 13px; }
.receipt { margin-top: 2px; letter-spacing: .03em; }
.price { margin-top: calc(var(--unit) * 4); font-size: 34px; font-weight: 650; line-height: 1.1; letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
.price span { font-size: 17px; font-weight: 500; letter-spacing: 0; }
.about { margin-top: calc(var(--unit) * 3); font-size: 14px; white-space: pre-line; overflow-wrap: anywhere; }
form { display: grid; gap: calc(var(--unit) * 3); margin-top: calc(var(--unit) * 5); }
label { display: block; margin-bottom: 6px; font-size: 13px; font-weight: 600; }
input {
  width: 100%; min-height: 46px; padding: 8px 12px; font-size: 16px; background: transparent;
  border: 1px solid color-mix(in oklab, var(--background), var(--text) 50%); border-radius: min(var(--radius), 12px);
}
input:focus-visible { outline-offset: -1px; border-color: transparent; }
input[aria-invalid=true] { border-color: var(--error); }
#code { font-size: 22px; letter-spacing: .3em; font-variant-numeric: tabular-nums; }
.actions { display: flex; gap: calc(var(--unit) * 2.5); margin-top: calc(var(--unit) * 2); }
.actions button {
  flex: 1 1 0; min-height: 46px; padding: 8px 14px; font-weight: 600; background: transparent;
  border: 1px solid color-mix(in oklab, var(--background), var(--text) 30%); border-radius: min(var(--radius), 23px);
}
.actions button:hover { background: color-mix(in oklab, var(--background), var(--text) 7%); }
.actions [value=go] { flex-grow: 1.6; border-color: transparent; background: var(--primary); color: var(--on-primary); }
.actions [value=go]:hover { background: color-mix(in oklab, var(--primary), var(--on-primary) 12%); }
[aria-busy=true] .actions [value=go], .actions [aria-disabled=true], #funds [aria-disabled=true] { opacity: .6; cursor: progress; }
#other-way { display: grid; gap: calc(var(--unit) * 2); margin-top: calc(var(--unit) * 5); }
#funds { display: grid; gap: calc(var(--unit) * 2); }
#own-window, #funds button { min-height: 40px; padding: 8px 14px; background: transparent; border: 1px solid color-mix(in oklab, var(--background), var(--text) 50%); border-radius: min(var(--radius), 20px); }
#own-window:hover, #funds button:hover { background: color-mix(in oklab, var(--background), var(--text) 7%); }
.more { display: flex; flex-wrap: wrap; gap: 4px 20px; margin-top: calc(var(--unit) * 1); }
.more button, .who button {
  padding: 4px 0; border: 0; background: none; font-size: 13px; text-decoration: underline;
  text-decoration-color: color-mix(in oklab, currentColor, transparent 55%); text-underline-offset: 3px;
}
.more button:hover, .who button:hover { text-decoration-color: currentColor; }
.who { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0 16px; }
.balance {
  padding: 12px 14px; border-radius: min(var(--radius), 12px); font-size: 14px; font-weight: 600; letter-spacing: .02em;
  background: color-mix(in oklab, var(--background), var(--text) 6%); font-variant-numeric: tabular-nums;
}
[role=alert] {
  --tone: var(--error);
  margin-top: calc(var(--unit) * 5); padding: 10px 14px; font-size: 14px; border-left: 4px solid var(--tone); border-radius: 4px;
  background: color-mix(in oklab, var(--background), var(--tone) 10%);
}
[role=alert].mild { --tone: var(--warning); }
[role=alert]:empty { display: none; }
#consent { max-height: min(260px, 34dvh); margin-top: 6px; padding: 12px 14px 12px 32px; overflow: auto; border-radius: min(var(--radius), 12px); font-size: 14px; background: color-mix(in oklab, var(--background), var(--text) 6%); }
#consent li { white-space: pre-line; overflow-wrap: anywhere; }
#consent strong { display: inline; }
#consent li + li { margin-top: calc(var(--unit) * 2); }
.hint { margin-top: calc(var(--unit) * 2); }
.hint a { color: inherit; text-underline-offset: 3px; }
@media (max-width: 480px) {
  dialog { width: 100%; max-height: 100dvh; margin: auto 0 0; padding-inline: 20px; border-width: 1px 0 0; border-end-start-radius: 0; border-end-end-radius: 0; }
}
.window dialog { margin: auto; border: 0; box-shadow: none; }
.window dialog::backdrop { background: var(--background); }
@media (max-height: 480px) {
  /* So low that the price and the button that agrees to it fit at once. */
  dialog { max-height: 100dvh; padding-block: 0 12px; scroll-padding-top: 56px; }
  header { position: sticky; top: 0; display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 12px; padding-block: 10px 8px; background: var(--background); }
  .coin { display: none; }
  .price { margin: 0 0 0 auto; font-size: 22px; }
  form { gap: 8px; margin-top: 8px; }
  .balance { padding-block: 6px; }
  .actions { margin-top: 0; }
  #consent { max-height: 24dvh; padding-block: 6px; }
  [role=alert] { margin-top: 8px; padding-block: 6px; }
}
@media (prefers-reduced-motion: no-preference) {
  dialog[open] { animation: rise .18s cubic-bezier(.2, .8, .3, 1); }
  dialog[open]::backdrop { animation: dim .18s ease-out; }
  #open, .actions button { transition: background-color .12s; }
}
@keyframes rise { from { opacity: 0; transform: translateY(10px); } }
@keyframes dim { from { opacity: 0; } }
`)
