import { mergeConfig } from 'vite';
import pages from '../../lib/dashboard/browser/vite.config.js';
import { PAGE_POLICY } from '../../lib/dashboard/page-policy.js';

/** The pages of the dashboard with a recorded back end, for any static host. */
export default mergeConfig(pages, {
  build: { outDir: '../../../dist-demo' },
  plugins: [
    {
      name: 'recorded-back-end',
      transformIndexHtml: {
        // Before the scripts of the page are bundled.
        order: 'pre',
        handler: () => [
          {
            // The server of the dashboard sends it as a header.
            tag: 'meta',
            attrs: { 'http-equiv': 'content-security-policy', content: PAGE_POLICY },
            injectTo: 'head-prepend',
          },
          {
            // Before those of the page: they find it in place of their server.
            tag: 'script',
            attrs: { type: 'module', src: '../../../docs/demo/recorded-back-end.ts' },
            injectTo: 'head-prepend',
          },
        ],
      },
    },
  ],
});
