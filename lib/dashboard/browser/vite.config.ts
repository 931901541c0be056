import { defineConfig } from 'vite';

/** Builds static files, which load nothing from elsewhere and stay within a strict content security policy. */
export default defineConfig({
  root: import.meta.dirname,
  // The page can be mounted anywhere.
  base: './',
  logLevel: 'warn',
  publicDir: false,
  build: {
    outDir: '../../../dist/dashboard',
    emptyOutDir: true,
    // The handler serves files of one folder.
    assetsDir: '',
    // The policy allows no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    target: 'es2022',
    license: { fileName: 'licenses.md' },
    // The duration depends on the machine.
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
});
