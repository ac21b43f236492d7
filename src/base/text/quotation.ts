import { parsedUrl } from './foreign-url.js'
import { codePointText, removeInvisible, revealInvisibleLine } from './invisible-characters.js'

/** Quotes untrusted text in the service's own sentences, so that nobody mistakes it for them. */

const MOST_CHARACTERS = 120

/** One line in quotation marks that the text itself cannot close, cut off after `most` characters. */
export function quoted(text: string, most = MOST_CHARACTERS): string {
  const line = removeInvisible(text.toWellFormed())
    .replace(/\s+/g, ' ')
    .replace(/["\u201c-\u201f]/g, "'")
  const characters = [...line.trim()]
  return `“${characters.slice(0, most).join('')}${characters.length > most ? '…' : ''}”`
}

/** A quoted email address, never cut off, because its end shows whose it is. */
export const quotedAddress = (address: string): string => {
  const shown = shownAddress(address)
  return quoted(shown, shown.length)
}

/** The characters that browsers read as a dot in a host name. */
const DOT = '[.\\u3002\\uff0e\\uff61]'
const HOST = `(?:[\\p{L}\\p{N}_-]+${DOT})+\\p{L}{2,}`
const LINK = `[a-z][a-z0-9+.-]*://\\S*|\\b(?:mailto|tel|sms|data|javascript):\\S*|\\bwww${DOT}\\S*|${HOST}(?::\\d+)?[/?#]\\S*`
const links = new RegExp(LINK, 'giu')
/** Links and bare host names, but not the hostnames of wallets, nor parts of email addresses. */
const linksAndHosts = new RegExp(`${LINK}|(?<![@\\p{L}\\p{N}_.-])(?![0-9a-f]{32}\\.)${HOST}(?![\\p{L}\\p{N}@-])`, 'giu')

/** The steps of a search for links grow with the square of a text. People read no more than this. */
const MOST_SEARCHED = 2048

const readable = (text: string): string =>
  text.length > MOST_SEARCHED ? `${text.slice(0, MOST_SEARCHED - 1).toWellFormed()}…` : text

/** Replaces links by "(link removed)". Bare host names stay, as `unlinked` writes them. */
export const withoutLinks = (text: string): string => unlinked(readable(text).replace(links, '(link removed)'))

const joints = new RegExp(`(?<=:)(?=//)|(?<=${DOT})(?=\\p{L})|(?<=[a-z]:)(?=\\S)`, 'giu')

/** The text, cut off after 2,048 characters, with spaces inserted so that mail programs turn no part of it into a link. */
export const unlinked = (text: string): string =>
  readable(text).replace(linksAndHosts, (link) => link.replace(joints, ' '))

/** An email address that exposes look-alikes: its domain as it resolves (`xn--…`), and code points of letters of other scripts. */
export function shownAddress(address: string): string {
  const [, local, domain] = /^(.*)@(.*)$/s.exec(address) ?? []
  if (local === undefined || domain === undefined) return revealInvisibleLine(address)
  const host = (!isAscii(domain) && parsedUrl(`https://${domain}/`)?.hostname) || domain
  const name = /\p{Script=Latin}/u.test(local) ? local.replace(FOREIGN, codePointText) : local
  const shown = revealInvisibleLine(`${name}@${host}`)
  return /^[\p{L}\p{N}\p{M}._+⟨⟩-]+@/u.test(shown) ? shown : unlinked(shown)
}

const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)

const FOREIGN = /(?!\p{Script=Latin})\p{L}/gu
