/** Marks calls of the service's own pages, which get every field, because a page may be opened in every evidence mode. */
export const PAGE_CALL = 'x-farthing-page'
