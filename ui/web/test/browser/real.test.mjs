// The whole product in a browser: the built program serves its own page, and talks to an engine that says what it is told
// to. JACKLINE_BIN names the program; without it these tests fail.

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { gate } from '../engine.mjs'
import { startProduct } from '../product.mjs'
import { launch, prompt } from './harness.mjs'

const patience = 30_000

let browser
let product
const opened = []

before(async () => {
  browser = await launch()
})
after(async () => await browser?.close())
afterEach(async () => {
  const complaints = []
  for (const o of opened.splice(0)) {
    complaints.push(...o.complaints, ...(await violations(o.page)))
    await o.context.close()
  }
  if (!product) return
  const { engine } = product
  const code = await product.close()
  product = undefined
  assert.deepEqual(complaints, [], 'the browser complained')
  assert.deepEqual(engine.faults, [], 'the engine complained')
  assert.equal(engine.left(), 0, 'the engine has said all of it')
  assert.equal(code, 0, 'the server ended well')
})

/** Violations of the security policy that the page itself was told of. */
const violations = (page) => page.evaluate(() => globalThis.__violations).catch((e) => [String(e)])

/** Opens the printed link. Everything on the console counts, all that is loaded must come from the server. */
async function enter(options = {}) {
  product = await startProduct(options)
  const context = await browser.newContext({ viewport: { width: 1280, height: 820 }, colorScheme: 'light', reducedMotion: 'reduce' })
  const page = await context.newPage()
  page.setDefaultTimeout(patience)
  const complaints = []
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && complaints.push(m.text()))
  page.on('pageerror', (e) => complaints.push(String(e)))
  page.on('request', (r) => r.url().startsWith(product.url) || complaints.push('asked for ' + r.url()))
  page.on('response', (r) => r.status() >= 400 && complaints.push(`${r.status()} ${r.request().method()} ${r.url()}`))
  await page.addInitScript(() => {
    globalThis.__violations = []
    document.addEventListener('securitypolicyviolation', (e) => globalThis.__violations.push(`${e.violatedDirective}: ${e.blockedURI}`))
  })
  opened.push({ page, context, complaints })
  await page.goto(product.link)
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  assert.equal(new URL(page.url()).hash.includes('code='), false, 'the code is gone from the address')
  return page
}

const button = (page, name) => page.getByRole('button', { name, exact: typeof name === 'string' })
const card = (page) => page.locator('[data-card]')
const allow = (page) => button(page, /^Allow once/)
const onDisk = (name) => readFile(path.join(product.site, name), 'utf8')
const chat = (page) => page.getByRole('log')
/** A card takes no answer in its first half second. */
const armed = (page) => page.waitForFunction(() => [...document.querySelectorAll('[data-card] [data-deny]')].some((b) => !b.disabled))
async function until(what, f) {
  const end = Date.now() + patience
  while (!(await f())) {
    if (Date.now() > end) assert.fail('it did not come to that: ' + what)
    await new Promise((r) => setTimeout(r, 25))
  }
}

const jobFiles = { 'greet.sh': 'echo Helo, world\n', 'notes/todo.md': '- mend the greeting\n' }
const job = [
  { thought: 'I should see what is there.', text: 'I will look around.', call: ['list_dir', { path: '.' }] },
  { call: ['file_read', { path: 'greet.sh' }] },
  { text: 'There is a typo in it.', call: ['file_edit', { path: 'greet.sh', old: 'Helo', new: 'Hello' }] },
  { call: ['shell', { command: 'sh greet.sh' }] },
  { call: ['grep', { pattern: 'Hello', path: 'greet.sh' }] },
  { text: 'I mended the greeting; it now says **Hello**.' },
]

for (const mode of ['native', 'text']) {
  describe(`the job, calls as ${mode}`, () => {
    it('goes from prompt to answer, through a reload', async () => {
      const page = await enter({ mode, files: jobFiles })
      product.engine.say(...job)
      await prompt(page, 'Mend the greeting and run it')

      // The edit: its card shows the change; nothing is changed yet. The page is loaded anew in the middle of it.
      await card(page).getByText('echo Hello, world').waitFor()
      assert.equal(await onDisk('greet.sh'), jobFiles['greet.sh'])
      const steps = await chat(page).innerText()
      await page.reload()
      await card(page).getByText('echo Hello, world').waitFor()
      assert.equal(await card(page).count(), 1)
      for (const words of ['Mend the greeting and run it', 'I will look around.', 'There is a typo in it.']) {
        assert.equal(steps.split(words).length, 2, words + ' before')
        assert.equal((await chat(page).innerText()).split(words).length, 2, words + ' after')
      }
      await allow(page).click()

      // The command: answered by key. Where nothing holds it, it is of high risk, so it takes three: the first shows all of it.
      await card(page).getByText('sh greet.sh').first().waitFor()
      assert.equal(await onDisk('greet.sh'), 'echo Hello, world\n')
      await armed(page)
      await page.keyboard.press('F6')
      const high = await card(page).getByText('runs without a sandbox').count()
      await page.keyboard.press('y')
      if (high) {
        await button(page, /^Show everything/).waitFor({ state: 'detached' })
        await page.keyboard.press('y')
        await button(page, /Press again to allow/).waitFor()
        await page.keyboard.press('y')
      }

      await chat(page).getByText('I mended the greeting; it now says').waitFor()
      assert.equal(await chat(page).locator('strong').innerText(), 'Hello', 'the answer is rendered')
      await until('the turn is over', async () => (await button(page, 'Stop').count()) === 0)
      assert.equal(await card(page).count(), 0)
      await button(page, /Run sh greet.sh/).click()
      await page.getByText('Hello, world', { exact: true }).waitFor()
      assert.equal(product.engine.requests.length, 6)
      assert.equal(product.engine.requests.every((r) => !!r.tools === (mode === 'native')), true)

      // It is all there after another reload, and once.
      await page.reload()
      await chat(page).getByText('I mended the greeting; it now says').waitFor()
      const whole = await chat(page).innerText()
      for (const words of ['I will look around.', 'There is a typo in it.', 'I mended the greeting']) assert.equal(whole.split(words).length, 2, words)
    })

    it('is denied with a reason, and the model reads it', async () => {
      const page = await enter({ mode, files: jobFiles })
      product.engine.say(job[2], { text: 'Then I leave it as it is.' })
      await prompt(page, 'Mend the greeting')
      await armed(page)
      await page.keyboard.press('F6')
      await page.keyboard.press('d')
      await page.getByLabel('Why not?').fill('the typo is wanted')
      await button(page, 'Deny with this reason').click()
      await chat(page).getByText('Then I leave it as it is.').waitFor()
      await page.getByText('denied by you').first().waitFor()
      assert.equal(await onDisk('greet.sh'), jobFiles['greet.sh'])
      assert.match(JSON.stringify(product.engine.requests[1].messages), /the typo is wanted/)
    })

    it('asks a question, and takes a choice and own words', async () => {
      const page = await enter({ mode })
      const ask = (text, options) => ({ call: ['ask_user', { question: text, options }] })
      product.engine.say(ask('Which colour?', ['red', 'blue']), ask('And which shade?', ['light', 'dark']), { text: 'Blue it is, as the sea.' })
      await prompt(page, 'Paint it')
      await page.getByText('Which colour?').first().waitFor()
      await button(page, 'blue').click()
      await card(page).getByText('And which shade?').waitFor()
      await page.getByLabel('Your own answer').fill('as the sea')
      await until('the card takes an answer', async () => button(page, 'Answer').isEnabled())
      await button(page, 'Answer').click()
      await chat(page).getByText('Blue it is, as the sea.').waitFor()
      const said = JSON.stringify(product.engine.requests[2].messages)
      assert.match(said, /blue/)
      assert.match(said, /as the sea/)
    })
  })
}

describe('while a turn runs', () => {
  it('is stopped in the middle of its words, and goes on with the next prompt', async () => {
    const page = await enter()
    const words = Array.from({ length: 2000 }, (_, i) => `number ${i + 1},`)
    product.engine.say({ text: words.join(' '), pace: 20 }, { text: 'Here I am again.' })
    await prompt(page, 'Count')
    await chat(page).getByText('number 1, number 2, number 3,').waitFor()
    await button(page, 'Stop').click()
    await chat(page).getByText(/^Stopped/).first().waitFor()
    await prompt(page, 'Are you there?')
    await chat(page).getByText('Here I am again.').waitFor()
    const text = await chat(page).innerText()
    assert.equal(text.split('number 1, number 2, number 3,').length, 2, 'the words so far are kept, once')
    assert.ok(!text.includes('number 2000,'))
  })

  it('queues what is sent meanwhile: edited, removed, and done in order', async () => {
    const page = await enter()
    const held = gate()
    product.engine.say({ text: 'The first answer.', hold: held.until }, { text: 'The second answer.' })
    await prompt(page, 'The first')
    await button(page, 'Stop').waitFor()
    const queue = page.getByRole('list', { name: 'Queued messages' })
    for (const words of ['The secnd', 'The third']) {
      await prompt(page, words)
      await queue.getByText(words).waitFor()
    }
    await button(page, 'Edit queued message: The secnd').click()
    await page.getByRole('textbox', { name: 'Edit queued message' }).fill('The second')
    await page.keyboard.press('Enter')
    await queue.getByText('The second').waitFor()
    await button(page, 'Remove queued message: The third').click()
    await until('one is left', async () => (await queue.getByRole('listitem').count()) === 1)
    await page.reload()
    await queue.getByText('The second').waitFor()
    held.open()
    await chat(page).getByText('The second answer.').waitFor()
    await until('the queue is empty', async () => (await queue.count()) === 0)
    const text = await chat(page).innerText()
    assert.ok(text.indexOf('The first answer.') < text.indexOf('The second answer.'))
    assert.ok(!text.includes('The third'))
  })
})

describe('while words are sent', () => {
  it('keeps what is typed meanwhile', async () => {
    const page = await enter()
    product.engine.say({ text: 'A.' }, { text: 'B.' })
    for (const [words, answer] of [['The first', 'A.'], ['The second', 'B.']]) {
      const sent = gate()
      await page.route('**/turns', async (route) => {
        if (route.request().method() === 'POST') await sent.until
        await route.continue()
      })
      await prompt(page, words)
      const box = page.getByRole('textbox', { name: 'Message' })
      await box.fill('typed meanwhile')
      sent.open()
      await chat(page).getByText(answer, { exact: true }).waitFor()
      assert.equal(await box.inputValue(), 'typed meanwhile')
      await page.unroute('**/turns')
    }
  })
})

describe('files', () => {
  it('shows what a turn changed, restores it, and leaves later edits alone', async () => {
    const page = await enter({ files: { 'a.txt': 'one\n', 'b.txt': 'two\n' } })
    product.engine.say(
      { text: 'First.', call: ['file_write', { path: 'a.txt', content: 'changed\n' }] },
      { text: 'Then.', call: ['file_write', { path: 'b.txt', content: 'changed\n' }] },
      { text: 'All changed.' },
    )
    await prompt(page, 'Change both files')
    await card(page).getByText('Can be undone').waitFor()
    await armed(page)
    await allow(page).click()
    await card(page).getByText('b.txt').first().waitFor()
    await armed(page)
    await allow(page).click()
    await chat(page).getByText('All changed.').waitFor()
    await writeFile(path.join(product.site, 'b.txt'), 'mine\n')

    await button(page, 'Review and restore').click()
    const undo = page.getByRole('region', { name: 'Changes that can be taken back' })
    await undo.getByText('Left alone: it was changed since').waitFor()
    // What will be done is said first; a person who backs out changes nothing.
    await button(page, 'Restore a.txt').click()
    await page.getByRole('dialog').getByText('a.txt: would be put back as it was').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    assert.equal(await onDisk('a.txt'), 'changed\n')
    await button(page, 'Restore a.txt').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
    await undo.getByText('As it was before').waitFor()
    assert.equal(await onDisk('a.txt'), 'one\n')
    assert.equal(await onDisk('b.txt'), 'mine\n')

    // To go over what came later is a choice of its own.
    await button(page, 'Restore b.txt anyway').click()
    await page.getByRole('dialog').getByText('Go over later changes?').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Restore anyway' }).click()
    await until('b.txt is restored', async () => (await onDisk('b.txt')) === 'two\n')

    // The undo can be undone, after a reload too.
    await page.reload()
    await chat(page).getByText('1 file was put back').nth(1).waitFor()
    await button(page, 'Review and restore').nth(2).click()
    await button(page, 'Restore b.txt').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
    await until('b.txt is back', async () => (await onDisk('b.txt')) === 'mine\n')
    await chat(page).getByText('1 file was put back').nth(2).waitFor()
  })
})

describe('around the chats', () => {
  it('lists, finds, renames and deletes them', async () => {
    const page = await enter()
    product.engine.say({ text: 'A.' }, { text: 'B.' })
    await prompt(page, 'Sort the taxes')
    await chat(page).getByText('A.', { exact: true }).waitFor()
    await button(page, 'New chat').click()
    await prompt(page, 'Mend the router')
    await chat(page).getByText('B.', { exact: true }).waitFor()
    await page.getByRole('link', { name: /Sort the taxes/ }).click()
    await chat(page).getByText('A.', { exact: true }).waitFor()
    await page.getByLabel('Search chats').fill('router')
    await until('the other is not listed', async () => (await page.getByRole('link', { name: /Sort the taxes/ }).count()) === 0)
    await page.getByRole('link', { name: /Mend the router/ }).waitFor()
    await page.getByLabel('Search chats').fill('')
    await page.getByRole('link', { name: /Sort the taxes/ }).hover()
    await button(page, 'Actions for Sort the taxes').click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('Taxes')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: /^Taxes/ }).hover()
    await button(page, 'Actions for Taxes').click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await until('it is gone', async () => (await page.getByRole('link', { name: /Taxes/ }).count()) === 0)
    await page.getByRole('link', { name: /Mend the router/ }).waitFor()
  })

  it('changes the mode, and gives and takes a permission', async () => {
    const page = await enter()
    const write = (name) => ({ call: ['file_write', { path: name, content: 'x\n' }] })
    product.engine.say(write('a.txt'), write('b.txt'), { text: 'Two are written.' }, write('c.txt'), { text: 'Asked again.' }, write('d.txt'), { text: 'Not asked.' })

    // A yes for the chat covers the second file too.
    await prompt(page, 'Write two')
    await armed(page)
    await button(page, /^This chat/).click()
    await chat(page).getByText('Two are written.').waitFor()
    assert.equal(await onDisk('b.txt'), 'x\n')

    // Taken back, the next one is asked about.
    await button(page, 'Settings').click()
    const box = page.getByRole('dialog')
    await box.getByRole('button', { name: /^Revoke: / }).click()
    await box.getByText('Nothing beyond single answers').waitFor()
    await button(page, 'Close').click()
    await prompt(page, 'Write a third')
    await armed(page)
    await button(page, /^Deny n/).click()
    await chat(page).getByText('Asked again.').waitFor()
    await assert.rejects(onDisk('c.txt'))

    // In another mode it is not asked about at all.
    await button(page, 'Settings').click()
    await box.getByLabel('Mode').selectOption('allow-edits')
    await box.getByRole('button', { name: 'Save' }).first().click()
    await box.getByText('Saved').first().waitFor()
    await button(page, 'Close').click()
    await button(page, 'New chat').click()
    await until('new chats have the mode', async () => (await page.getByLabel('Permissions').inputValue()) === 'allow-edits')
    await prompt(page, 'Write a fourth')
    await chat(page).getByText('Not asked.').waitFor()
    assert.equal(await onDisk('d.txt'), 'x\n')
  })
})
