/**
 * The named shapes that operations send and answer, such as `Payment`. The build replaces this module by one that exports
 * them: here they are only types of schemas, without names.
 */

export {}
