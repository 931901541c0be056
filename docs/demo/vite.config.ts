import { mergeConfig } from 'vite';
import pages from '../../lib/dashboard/browser/vite.config.js';
import { PAGE_POLICY } from '../../lib/dashboard/page-policy.js';

/** The pages of the dashboard with a recorded back end, for any static host. */
export default mergeConfig(pages, {
  root: import.meta.dirname,
  build: { outDir: '../../dist-demo' },
  plugins: [
    {
      // The server of the dashboard sends it as a header.
      name: 'content-security-policy',
      transformIndexHtml: () => [
        {
          tag: 'meta',
          attrs: { 'http-equiv': 'content-security-policy', content: PAGE_POLICY },
          injectTo: 'head-prepend',
        },
      ],
    },
  ],
});
