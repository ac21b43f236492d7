import { removeInvisible, revealInvisibleLine } from './invisible-characters.js'

/** How words of others stand in sentences of ours, so that they are taken for nothing else. */

const MOST_CHARACTERS = 120

/** One line, in quotation marks that it cannot end, cut off after so many characters. */
export function quoted(text: string, most = MOST_CHARACTERS): string {
  const line = removeInvisible(text.toWellFormed())
    .replace(/\s+/g, ' ')
    .replace(/["\u201c-\u201f]/g, "'")
  const characters = [...line.trim()]
  return `“${characters.slice(0, most).join('')}${characters.length > most ? '…' : ''}”`
}

/** An address: whole, as its end says whose it is. */
export const quotedAddress = (address: string): string => {
  const shown = shownAddress(address)
  return quoted(shown, shown.length)
}

/** The dots that browsers take for one in a host name. */
const DOT = '[.\\u3002\\uff0e\\uff61]'
const HOST = `(?:[\\p{L}\\p{N}_-]+${DOT})+\\p{L}{2,}`
const LINK = `[a-z][a-z0-9+.-]*://\\S*|\\b(?:mailto|tel|sms|data|javascript):\\S*|\\bwww${DOT}\\S*|${HOST}(?::\\d+)?[/?#]\\S*`
const links = new RegExp(LINK, 'giu')
/** Beside links, bare host names: not those of wallets, which the service gives, nor parts of addresses of people. */
const linksAndHosts = new RegExp(`${LINK}|(?<![@\\p{L}\\p{N}_.-])(?![0-9a-f]{32}\\.)${HOST}(?![\\p{L}\\p{N}@-])`, 'giu')

/** Text without links; a bare host name stays, as `unlinked` writes it. */
export const withoutLinks = (text: string): string => unlinked(text.replace(links, '(link removed)'))

const joints = new RegExp(`(?<=:)(?=//)|(?<=${DOT})(?=\\p{L})|(?<=[a-z]:)(?=\\S)`, 'giu')

/** The whole text, with spaces by which a mail program makes no link of any part of it. */
export const unlinked = (text: string): string => text.replace(linksAndHosts, (link) => link.replace(joints, ' '))

/**
 * An address with its look-alikes told apart: the domain as it is looked up (`xn--…`), and letters of other scripts among
 * Latin ones by their numbers.
 */
export function shownAddress(address: string): string {
  const [, local, domain] = /^(.*)@(.*)$/s.exec(address) ?? []
  if (local === undefined || domain === undefined) return revealInvisibleLine(address)
  const host = isAscii(domain) || !URL.canParse(`https://${domain}/`) ? domain : new URL(`https://${domain}/`).hostname
  const name = /\p{Script=Latin}/u.test(local) ? local.replace(FOREIGN, nameLetter) : local
  const shown = revealInvisibleLine(`${name}@${host}`)
  return /^[\p{L}\p{N}\p{M}._+⟨⟩-]+@/u.test(shown) ? shown : unlinked(shown)
}

const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)

const FOREIGN = /(?!\p{Script=Latin})\p{L}/gu

const nameLetter = (letter: string): string =>
  `⟨U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`
