/**
 * The header with which the service's own pages mark their calls. A page may be opened in every mode, so its calls are
 * answered with every field, whatever their evidence grade.
 */
export const PAGE_CALL = 'x-farthing-page'
