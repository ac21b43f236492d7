import { palette } from './palette.js'

const { coin, 'on-coin': mark } = palette.light

/** The mark of farthing, as a picture of its own. */
export const coinSvg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 28"><circle cx="14" cy="14" r="13" fill="${coin}"/><circle cx="14" cy="14" r="10.2" fill="none" stroke="${mark}" stroke-opacity=".55" stroke-width="1.2"/><path d="M11.6 19V9h5.6M11.6 14h4.4" fill="none" stroke="${mark}" stroke-width="2.2"/></svg>`

/** The same as an address, for the icon of a page. */
export const coinIcon = `data:image/svg+xml,${encodeURIComponent(coinSvg)}`
