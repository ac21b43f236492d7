import { isObject } from '../../storage/unknown.js'
import { type Color, contrast, hexColor, parseColor, readableOn } from './color.js'

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
