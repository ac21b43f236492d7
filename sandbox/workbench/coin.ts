/** The mark of farthing, as a picture of its own. */
export const coinSvg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 28"><circle cx="14" cy="14" r="13" fill="#a4552a"/><circle cx="14" cy="14" r="10.2" fill="none" stroke="#fff" stroke-opacity=".55" stroke-width="1.2"/><path d="M11.6 19V9h5.6M11.6 14h4.4" fill="none" stroke="#fff" stroke-width="2.2"/></svg>`
