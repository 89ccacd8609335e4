// Takes the picture of the README: the real page of the built program, in the middle of a turn.
//
//   make build && JACKLINE_BIN=$PWD/bin/jackline node ui/web/test/screenshot.mjs HOME FILE
//
// HOME is a folder that is not there yet, as it is to be seen in the picture; it is removed again.

import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { launch, prompt } from './browser/harness.mjs'
import { startProduct } from './product.mjs'

const [home, file] = process.argv.slice(2)
if (!home || !file || existsSync(home)) throw new Error('name a home that is not there yet, and the picture: screenshot.mjs HOME FILE')

const css = `.menu {
  position: fixed;
  top: 0;
  width: 100%;
  background: #fff;
}
`
const files = {
  'css/main.css': css,
  'index.html': '<!doctype html>\n<title>Bakery</title>\n<link rel="stylesheet" href="css/main.css">\n<ul class="menu"><li>Bread</li><li>Cakes</li></ul>\n<main><h1>Bakery</h1></main>\n',
  'test/layout.test.js': "import test from 'node:test'\ntest('the menu leaves room for the heading', () => {})\n",
  'package.json': '{ "scripts": { "test": "node --test" } }\n',
}
const earlier = ['Sort the photos by year', 'Which links on the site are dead?', 'Write the opening hours for the holidays']

const product = await startProduct({ home, folder: 'site', files, model: 'qwen3-8b' })
const browser = await launch()
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 940 }, colorScheme: 'light', reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(product.link)
  for (const title of earlier) {
    product.engine.say({ text: 'Done.' })
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    await prompt(page, title)
    await page.getByRole('log').getByText('Done.').waitFor()
    await page.getByRole('button', { name: 'New chat', exact: true }).click()
  }
  product.engine.say(
    { thought: 'The menu is probably fixed and the page does not leave room for it.', text: 'I will look at the page and its styles.', calls: [['list_dir', { path: '.' }], ['file_read', { path: 'index.html' }], ['file_read', { path: 'css/main.css' }]] },
    { call: ['grep', { pattern: 'menu', path: '.' }] },
    {
      text: 'The menu is `fixed`, so it lies **on top of** the heading. A `sticky` menu keeps its own place.',
      call: ['file_edit', { path: 'css/main.css', old: '  position: fixed;\n  top: 0;\n  width: 100%;', new: '  position: sticky;\n  top: 0;' }],
    },
  )
  await prompt(page, 'On phones the menu covers the heading. Fix it, then run the tests.')
  await page.locator('[data-card]').getByText('sticky').first().waitFor()
  await page.waitForFunction(() => [...document.querySelectorAll('[data-card] [data-deny]')].some((b) => !b.disabled))
  await page.mouse.move(700, 10)
  await page.screenshot({ path: path.resolve(file) })
} finally {
  await browser.close()
  await product.close()
  await rm(home, { recursive: true, force: true })
}
