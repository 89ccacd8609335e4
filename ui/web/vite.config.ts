import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

// The server's content security policy forbids inline code, inline styles and data: addresses for scripts, so nothing
// may be inlined, and every file comes from the page's own origin.
export default defineConfig({
  plugins: [svelte()],
  base: '/',
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
    reportCompressedSize: true,
  },
  server: {
    proxy: { '/api': process.env.JACKLINE_URL ?? 'http://127.0.0.1:7717' },
  },
  test: {
    include: ['test/unit/**/*.test.ts'],
    environment: 'node',
  },
})
