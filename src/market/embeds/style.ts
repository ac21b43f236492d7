import { isObject } from '../../storage/unknown.js'

export type Theme = 'light' | 'dark'

/** The backgrounds in embed-style.ts. */
const backgrounds: Record<Theme, Color> = { light: [255, 255, 255], dark: [28, 33, 41] }

/**
 * Turns the style values that a page may set into custom properties. Each value is parsed and written again, so that a
 * page cannot insert CSS of its own. Invalid values are ignored.
 */
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
  if (json === undefined || json.length > 4096) return {}
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
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

/** Width, line style and colour in any order, each at most once. */
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

/** Font names, each quoted anew. */
function fontFamily(text: string): string | undefined {
  const names = text.split(',').map((name) => name.trim().replace(/^(["'])(.*)\1$/, '$2'))
  if (names.length > 8 || !names.every((name) => /^[\p{L}\p{N}][\p{L}\p{N} _-]{0,40}$|^-apple-system$/u.test(name)))
    return undefined
  return names.map((name) => (generic.test(name) ? name : `"${name}"`)).join(',')
}

/** An opaque colour: red, green and blue from 0 to 255. */
export type Color = readonly [red: number, green: number, blue: number]

/** Parses a CSS colour (name, hex, rgb() or hsl()). Returns undefined for anything else and for transparent colours. */
export function parseColor(text: string): Color | undefined {
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

export const hexColor = (color: Color): string =>
  `#${color.map((each) => Math.round(each).toString(16).padStart(2, '0')).join('')}`

/** WCAG 2 contrast, from 1 to 21. */
export function contrast(a: Color, b: Color): number {
  const [one, other] = [luminance(a), luminance(b)]
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
}

/** Returns black or white, whichever has more contrast with the colour. */
export const readableOn = (color: Color): Color => (contrast(WHITE, color) >= contrast(BLACK, color) ? WHITE : BLACK)

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
