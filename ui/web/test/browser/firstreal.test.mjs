// The first run with the real program in an empty home: nothing is configured, and what there is, is a scripted Ollama.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { buildOllama, gemma, qwen, startOllama } from '../ollama.mjs'
import { startProduct } from '../product.mjs'
import { launch } from './harness.mjs'

const patience = 30_000

let browser
let built
let ollama
let product
const opened = []

before(async () => {
  ;[browser, built] = await Promise.all([launch(), buildOllama()])
})
after(async () => {
  await browser?.close()
  await built?.remove()
})
afterEach(async () => {
  const complaints = []
  for (const o of opened.splice(0)) {
    complaints.push(...o.complaints)
    await o.context.close()
  }
  const code = await product?.close()
  const said = await ollama?.close()
  product = ollama = undefined
  assert.deepEqual(complaints, [], 'the browser complained')
  assert.equal(said, '', 'the engine complained')
  assert.equal(code, 0, 'the server ended well')
})

const files = { 'greet.sh': 'echo Helo, world\n' }
const script = `=== 1
I will look at it.
--- call file_read {"path": "greet.sh"}
=== 2
--- call file_edit {"path": "greet.sh", "old": "Helo", "new": "Hello"}
=== 3
I mended the greeting; it now says **Hello**.
=== side
Mend the greeting
`

async function enter(engine) {
  ollama = await startOllama(built.bin, { script, ...engine })
  product = await startProduct({ files, found: ollama.host })
  const context = await browser.newContext({ viewport: { width: 1280, height: 820 }, colorScheme: 'light', reducedMotion: 'reduce' })
  const page = await context.newPage()
  page.setDefaultTimeout(patience)
  const complaints = []
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && complaints.push(m.text()))
  page.on('pageerror', (e) => complaints.push(String(e)))
  page.on('request', (r) => r.url().startsWith(product.url) || complaints.push('asked for ' + r.url()))
  await page.addInitScript(() => {
    globalThis.__clicks = 0
    document.addEventListener('click', (e) => e.isTrusted && globalThis.__clicks++, true)
  })
  opened.push({ page, context, complaints })
  await page.goto(product.link)
  return page
}
const button = (page, name) => page.getByRole('button', { name, exact: typeof name === 'string' })
const clicks = (page) => page.evaluate(() => globalThis.__clicks)

/** A task is typed and sent, its one card allowed, and its answer read. */
async function work(page) {
  const box = page.getByRole('textbox', { name: 'Message' })
  await box.waitFor()
  await box.click()
  await page.keyboard.type('Mend the greeting')
  await button(page, 'Send').click()
  await page.locator('[data-card]').getByText('echo Hello, world').waitFor()
  await page.waitForFunction(() => [...document.querySelectorAll('[data-card] [data-deny]')].some((b) => !b.disabled))
  await button(page, /^Allow once/).click()
  await page.getByRole('log').getByText('I mended the greeting; it now says').waitFor()
  assert.equal(await readFile(path.join(product.site, 'greet.sh'), 'utf8'), 'echo Hello, world\n')
}

describe('in an empty home', () => {
  it('one model is taken by itself: four clicks from the page to the answer, at most', async () => {
    const page = await enter({ models: [qwen] })
    await work(page)
    const n = await clicks(page)
    assert.ok(n <= 4, `${n} clicks`)
    assert.match(await button(page, /^Model:/).innerText(), /qwen3:4b/)
    await button(page, /^Context \d+ % full/).waitFor()
  })

  it('a model is fetched, cancelled, gone on with, and worked with', async () => {
    const page = await enter({ library: [qwen, { ...qwen, Name: 'qwen3:8b', Bytes: 5_200_000_000 }], paceMS: 150 })
    await page.getByRole('heading', { name: 'Now a model' }).waitFor()
    await button(page, 'Get qwen3:4b').click()
    await page.getByRole('progressbar').waitFor()
    await button(page, 'Cancel the download of qwen3:4b').click()
    await button(page, 'Resume the download of qwen3:4b').click()
    await work(page)
  })

  it('of several models one is chosen, and a chat goes on with another', async () => {
    const page = await enter({ models: [qwen, gemma] })
    await page.getByRole('heading', { name: 'Which model?' }).waitFor()
    await page.getByText('calls tools', { exact: true }).waitFor()
    await button(page, 'Use qwen3:4b').click()
    await work(page)
    await button(page, /^Model:/).click()
    await page.locator('[data-model]').filter({ hasText: 'gemma3:4b' }).click()
    await page.waitForFunction(() => document.querySelector('main')?.textContent?.includes('gemma3:4b'))
    await page.reload()
    await page.getByRole('button', { name: /^Model: gemma3:4b/ }).waitFor()
  })

  it('a model is probed with a button, and used as it turned out to be', async () => {
    const call = (name, args) => `===\n--- call ${name} ${JSON.stringify(args)}\n`
    const final = '===\n{"final": true}\n'
    const page = await enter({
      models: [qwen],
      script:
        '===\nSure.\n===\nIt is warm.\n===\nHello, Ada!\n' + call('probe_note', { text: 'green lamp' }) + call('probe_weather', { city: 'Oslo' }) + final + '===\nHello, Ada!\n' +
        call('probe_book', { title: 'Night train', seats: 3, price: 42.5, window: true, days: ['mon', 'tue'], contact: { name: 'Ada' } }) +
        final + '===\n7.3 kilograms.\n' + call('probe_scale', {}) + final + '===\nIt failed.\n' + call('probe_weather', { city: 'Oslo' }) + final + '===\n1, 2, 3\n--- usage 1500 64\n' +
        final + '=== *\nHello from here.\n',
    })
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    await button(page, /^Model:/).click()
    await button(page, 'Probe qwen3:4b: try out how well it calls tools').click()
    await page.locator('[data-model]').getByText('100 of 100 in calls').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello')
    await button(page, 'Send').click()
    await page.getByRole('log').getByText('Hello from here.').waitFor()
  })

  it('without an engine, one is looked for and added by hand; the doctor has something to say', async () => {
    const page = await enter({ models: [qwen] })
    await button(page, 'Settings').click()
    await button(page, 'Look').click()
    await page.getByText(/Everything is in order|Not everything is in order/).first().waitFor()
    await button(page, 'Add engine').click()
    const dialog = page.getByRole('dialog', { name: 'Add an engine' })
    await dialog.getByLabel('Address').fill(ollama.url)
    await dialog.getByRole('button', { name: 'Test' }).click()
    await dialog.getByText(/Ollama 0\.\S+ answers and has 1 model\./).waitFor()
    await dialog.getByLabel('Address').fill('http://127.0.0.1:1')
    await dialog.getByRole('button', { name: 'Test' }).click()
    await dialog.getByRole('status').getByText(/^This address: not answering/).waitFor()
  })
})
