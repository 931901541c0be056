/** The content security policy of the pages, as far as a page can state it itself: nothing is loaded from elsewhere. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'";
