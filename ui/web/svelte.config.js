import { vitePreprocess } from '@sveltejs/vite-plugin-svelte'

export default {
  preprocess: vitePreprocess(),
  compilerOptions: {
    runes: true,
    discloseVersion: false,
    // Short, and from the style itself, so that a build is the same in any folder.
    cssHash: ({ hash, css }) => 'x' + hash(css).slice(0, 5),
  },
}
