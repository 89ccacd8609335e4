// First run, engines and models, the recorded job, and the doctor: the page in a browser, against the stand-in server.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, afterEach, before, describe, it } from 'node:test'
import { bare, engine, gemma, ollama, qwen, usual, verdict } from '../fake-models.mjs'
import { launch, open, prompt, startFake } from './harness.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let browser
let fake
const opened = []

before(async () => {
  browser = await launch()
})
after(async () => await browser?.close())
afterEach(async () => {
  for (const { context, complaints } of opened.splice(0)) {
    await context.close()
    assert.deepEqual(complaints, [], 'the browser complained')
  }
  await fake?.close()
  fake = undefined
})

const none = () => ({ default: '', engines: [], pulls: [] })
const empty = () => ({ default: '', engines: [ollama()], pulls: [] })
const many = () => ({ default: '', engines: [ollama([qwen, gemma, bare])], pulls: [] })
const key = () => engine('vllm', { api: 'openai', base_url: 'http://127.0.0.1:8000/v1', state: 'needs-key', why: 'It wants a key.' })

async function enter(listing, o = {}) {
  fake = await startFake({ speed: 0.1, listing })
  const one = await open(browser, fake, { path: '#code=CODE', ...o })
  opened.push(one)
  return one
}
const button = (page, name) => page.getByRole('button', { name, exact: typeof name === 'string' })
const picker = (page) => button(page, /^Model:/)
const message = (page) => page.getByRole('textbox', { name: 'Message' })
async function until(what, f) {
  for (let i = 0; i < 160; i++) {
    if (await f()) return
    await new Promise((r) => setTimeout(r, 50))
  }
  assert.fail('it did not come to that: ' + what)
}
async function axeCheck(page, what) {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
  const bad = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
  assert.deepEqual(bad.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ') + ' ' + (n.any[0]?.message ?? '')).join(' | ')}`), [], what)
}
const fitsWidth = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)
const armed = (page) => page.waitForFunction(() => [...document.querySelectorAll('[data-card] [data-deny]')].some((b) => !b.disabled))

describe('without an engine', () => {
  it('says how to get one on the server’s system, and finds it', async () => {
    const { page } = await enter(none())
    await page.getByRole('heading', { name: 'First, an engine that runs models' }).waitFor()
    assert.equal(await message(page).count(), 0, 'there is nothing to send to yet')
    await page.getByText('https://ollama.com/install.sh').waitFor()
    await axeCheck(page, 'no engine')
    await page.getByText('Windows', { exact: true }).click()
    await page.getByText('winget install --id Ollama.Ollama').waitFor()
    await page.getByRole('radio', { name: 'macOS' }).focus()
    await page.keyboard.press('ArrowLeft')
    await page.getByText('https://ollama.com/install.sh').waitFor()
    await button(page, 'Look again').click()
    await until('it looked', async () => (await page.locator('[aria-live=polite]').first().innerText()) === 'No engine answers.')
    fake.models.next = { default: '', engines: [ollama([qwen])], pulls: [] }
    await button(page, 'Look again').click()
    await message(page).waitFor()
    assert.match(await picker(page).innerText(), /qwen3:4b/)
  })
  it('copies a command', async () => {
    const { page, context } = await enter(none())
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await button(page, /^Copy: curl/).click()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'curl -fsSL https://ollama.com/install.sh | sh')
  })
  it('says what is the matter with those that it found, and takes a key', async () => {
    const { page } = await enter({ ...none(), engines: [key()] })
    await page.getByText('It wants a key.').waitFor()
    await page.getByText('needs a key').waitFor()
    await button(page, /^Enter key/).click()
    const dialog = page.getByRole('dialog', { name: 'The key of an engine' })
    assert.equal(await dialog.getByLabel('Address').inputValue(), 'http://127.0.0.1:8000/v1')
    const field = dialog.getByLabel('Key, if it needs one')
    assert.equal(await field.getAttribute('type'), 'password')
    await axeCheck(page, 'the dialog')
    await field.fill('s3cret-words')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await message(page).waitFor()
    const { body } = fake.log.find((l) => l.what === 'add')
    assert.equal(body.key, 's3cret-words')
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]) + document.body.outerHTML)
    assert.ok(!kept.includes('s3cret'), 'the key is nowhere in the page')
    await picker(page).click()
    await button(page, 'Add engine').click()
    assert.equal(await page.getByLabel('Key, if it needs one').inputValue(), '')
  })
  it('says so where the list cannot be had', async () => {
    fake = await startFake({ listing: usual() })
    fake.models.fail = 'The disk is full.'
    const one = await open(browser, fake, { path: '#code=CODE' })
    opened.push(one)
    await message(one.page).waitFor()
    await picker(one.page).click()
    await one.page.getByText('The disk is full.').waitFor()
  })
})

describe('with an engine and no model', () => {
  it('fetches one, with a bar, a cancel and a resume, and goes on to the first chat', async () => {
    const { page } = await enter(empty())
    await page.getByRole('heading', { name: 'Now a model' }).waitFor()
    await page.getByText('The machine has 16 GB of memory.').waitFor()
    await page.getByText('suggested').waitFor()
    await axeCheck(page, 'no model')
    fake.models.hold = true
    await button(page, 'Get qwen3:8b').click()
    const bar = page.getByRole('progressbar')
    await bar.waitFor()
    fake.models.listing.pulls[0].done = fake.models.listing.pulls[0].total * 0.6
    await page.getByText('60 %').waitFor()
    await until('it is announced', async () => (await page.locator('[aria-live=polite]').first().innerText()).includes('qwen3:8b: 50 %'))
    assert.equal(await bar.getAttribute('aria-label'), 'Fetching qwen3:8b')
    await button(page, 'Cancel the download of qwen3:8b').click()
    await page.getByText('cancelled, what came so far is kept').waitFor()
    fake.models.hold = false
    await button(page, 'Resume the download of qwen3:8b').click()
    await message(page).waitFor()
    assert.match(await picker(page).innerText(), /qwen3:8b/)
    assert.deepEqual(fake.log.filter((l) => l.what === 'pull').map((l) => l.body), [{ engine: 'ollama', model: 'qwen3:8b' }, { engine: 'ollama', model: 'qwen3:8b' }])
  })
  it('fetches any by name, goes on after a reload, and says what went wrong', async () => {
    const { page } = await enter(empty())
    await page.getByLabel('Another model, by its name in the library').fill('two words')
    await page.keyboard.press('Enter')
    await page.getByText('Name the model that is to be fetched').waitFor()
    fake.models.hold = true
    await page.getByLabel('Another model, by its name in the library').fill('granite4:tiny')
    await page.keyboard.press('Enter')
    await page.getByRole('progressbar').waitFor()
    await page.reload()
    await page.getByRole('progressbar').waitFor()
    Object.assign(fake.models.listing.pulls[0], { status: 'failed', error: 'The disk is full: make room, then try again.' })
    await page.getByText('The disk is full: make room').waitFor()
    await button(page, 'Take granite4:tiny off the list').click()
    await until('it is gone', async () => (await page.getByRole('list', { name: 'Downloads' }).count()) === 0)
  })
})

describe('with several models', () => {
  it('lets a person choose, and says what is known and what is not', async () => {
    const { page } = await enter(many())
    await page.getByRole('heading', { name: 'Which model?' }).waitFor()
    for (const words of ['40,960 tokens window', 'calls tools', '8,192 tokens window (assumed)', 'sees pictures', 'window unknown', 'tools: unknown', 'size unknown', '3.3 GB']) {
      await page.getByText(words, { exact: true }).first().waitFor()
    }
    await axeCheck(page, 'a choice')
    await button(page, 'Use gemma3:4b').click()
    await message(page).waitFor()
    assert.equal(fake.models.listing.default, 'ollama/gemma3:4b')
  })
  it('shows names of engines and models as text only', async () => {
    const evil = '<img src=x onerror=alert(1)>\u202eexe'
    const { page } = await enter({ default: '', engines: [ollama([qwen, { ...gemma, id: evil }], { name: '<b>bold</b>\u2066' })], pulls: [] })
    await page.getByText('<img src=x onerror=alert(1)>\ufffdexe').waitFor()
    await page.getByText('<b>bold</b>').first().waitFor()
    assert.equal(await page.locator('main img, main b b').count(), 0)
    assert.ok(!(await page.locator('main').innerHTML()).match(/[\u202e\u2066]/), 'nothing turns the reading direction')
  })
})

describe('the picker', () => {
  it('is searched and used by keyboard, for the new chat and for a running one', async () => {
    const { page } = await enter(usual())
    await message(page).waitFor()
    await picker(page).focus()
    await page.keyboard.press('Enter')
    const search = page.getByRole('searchbox', { name: 'Search models' })
    await search.waitFor()
    await axeCheck(page, 'the picker')
    await search.fill('gem')
    await until('one is left', async () => (await page.locator('[data-model]').count()) === 1)
    await page.keyboard.press('Enter')
    await until('it is chosen', async () => /gemma3:4b/.test(await picker(page).innerText()))
    await prompt(page, 'menu')
    await page.getByRole('log').waitFor()
    await until('it is the chat’s', async () => /gemma3:4b/.test(await picker(page).innerText()))
    await picker(page).click()
    await until('the search has the focus', () => search.evaluate((e) => e === document.activeElement))
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await until('it is another', async () => /qwen3:4b/.test(await picker(page).innerText()))
    const id = new URL(page.url()).hash.split('/').pop()
    const row = await page.evaluate(async ([id]) => (await fetch('/api/sessions/' + id, { headers: { Authorization: 'Bearer TOKEN' } })).json(), [id])
    assert.equal(row.model, 'ollama/qwen3:4b')
    await picker(page).click()
    await search.waitFor()
    await page.keyboard.press('Escape')
    assert.match(await page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? ''), /^Model:/, 'the focus comes back')
  })
  it('marks the default and changes it', async () => {
    const { page } = await enter(usual())
    await picker(page).click()
    const rows = page.locator('[data-model]')
    assert.match(await rows.nth(0).innerText(), /qwen3:4b\s*default/)
    await button(page, 'Make gemma3:4b the default of new chats').click()
    await until('it is the default', async () => /default/.test(await rows.nth(1).innerText()))
    assert.equal(fake.models.listing.default, 'ollama/gemma3:4b')
  })
  it('warns where the engine of the model does not answer', async () => {
    const l = usual()
    Object.assign(l.engines[0], { state: 'down', why: 'Nothing answers at 127.0.0.1:11434: start it with ollama serve.' })
    const { page } = await enter(l)
    await page.getByText('start it with ollama serve').first().waitFor()
    assert.match(await picker(page).getAttribute('aria-label'), /not answering/)
    assert.equal(await message(page).count(), 1)
  })
  it('tries an address, says what came of it, adds and removes it', async () => {
    const { page } = await enter(usual())
    await picker(page).click()
    await button(page, 'Add engine').click()
    const dialog = page.getByRole('dialog', { name: 'Add an engine' })
    await dialog.getByRole('button', { name: 'Test' }).click()
    await dialog.getByText('Write the address of the engine.').waitFor()
    await dialog.getByLabel('Address').fill('10.0.0.9')
    await dialog.getByRole('button', { name: 'Test' }).click()
    await dialog.getByText('An address begins with http://').waitFor()
    await dialog.getByLabel('Address').fill('http://10.0.0.9:8000/v1')
    await dialog.getByRole('button', { name: 'Test' }).click()
    await dialog.getByText('OpenAI-compatible engine: not answering. Nothing answers at this address.').waitFor()
    fake.models.tried = (b) => engine('vllm', { version: '0.9', base_url: b.base_url, models: [{ ...bare, ref: 'vllm/mystery' }] })
    await dialog.getByRole('button', { name: 'Test' }).click()
    await dialog.getByText('vLLM 0.9 answers and has 1 model.').waitFor()
    await dialog.getByLabel('Name, if it is to have one').fill('attic')
    await dialog.getByLabel('Kind').selectOption('openai')
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.deepEqual(fake.log.find((l) => l.what === 'add').body, { base_url: 'http://10.0.0.9:8000/v1', api: 'openai', name: 'attic' })
    await picker(page).click()
    await page.getByRole('heading', { name: /attic/ }).waitFor()
    await button(page, 'Manage engines').click()
    await button(page, /^Remove: attic/).click()
    await page.getByRole('dialog').getByText('Jackline forgets http://10.0.0.9:8000/v1').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).last().click()
    await until('it is gone', async () => (await button(page, /^Remove: attic/).count()) === 0)
    assert.equal(fake.models.listing.engines.length, 1)
  })
})

describe('a probe', () => {
  it('is begun in the settings, watched, cancelled, and shows what it found', async () => {
    const { page } = await enter(usual())
    await picker(page).click()
    await button(page, 'Manage engines').click()
    await page.getByText('Ollama 0.40.2 answers and has 2 models.').click()
    await page.getByText('never probed').first().waitFor()
    fake.models.hold = true
    await button(page, 'Probe qwen3:4b: try out how well it calls tools').click()
    await page.getByRole('progressbar', { name: 'Probing qwen3:4b' }).waitFor()
    await page.getByText('native: makes a call when told to').waitFor()
    await axeCheck(page, 'a probe under way')
    await button(page, 'Cancel the probe of qwen3:4b').click()
    await page.getByRole('progressbar', { name: 'Probing qwen3:4b' }).waitFor({ state: 'detached' })
    fake.models.hold = false
    await button(page, 'Probe qwen3:4b: try out how well it calls tools').click()
    await page.getByText('98 of 100 in mode text').waitFor()
    await page.getByText('What a probe of qwen3:4b found').click()
    for (const words of ['Calls in mode text do what turns need, with 98 of 100 points.', '20 tools at once · 20 steps a turn · reads 812 tokens a second · writes 24.5 tokens a second', 'It makes one call after the other.', 'The engine says that this model takes no tools of its own.', 'in part', 'passed']) {
      await page.getByText(words, { exact: true }).first().waitFor()
    }
    await axeCheck(page, 'what a probe found')
    assert.ok(await fitsWidth(page))
    assert.deepEqual(fake.log.filter((l) => l.what === 'probe').map((l) => l.body), [{ ref: 'ollama/qwen3:4b' }, { ref: 'ollama/qwen3:4b' }])
  })
  it('is begun in the picker, and its failure says why', async () => {
    const { page } = await enter(usual())
    fake.models.hold = true
    await picker(page).click()
    await button(page, 'Probe gemma3:4b: try out how well it calls tools').click()
    const row = page.locator('[data-model]').filter({ hasText: 'gemma3:4b' })
    await row.getByText('Probing 0 of 14').waitFor()
    fake.models.probeFails = 'The engine at 127.0.0.1:11434 <b>fell</b> over.'
    fake.models.hold = false
    await button(page, 'Manage engines').click()
    await page.getByText('Ollama 0.40.2 answers and has 2 models.').click()
    await page.getByText('The engine at 127.0.0.1:11434 <b>fell</b> over.', { exact: true }).waitFor()
    await button(page, 'Take the probe of gemma3:4b off the list').click()
    await page.getByText('The engine at 127.0.0.1:11434 <b>fell</b> over.', { exact: true }).waitFor({ state: 'detached' })
  })
  it('says that the weights are others now', async () => {
    const { page } = await enter({ default: '', engines: [ollama([{ ...qwen, probed: verdict(), stale: true }])], pulls: [], probes: [] })
    await picker(page).click()
    await button(page, 'Manage engines').click()
    await page.getByText('Ollama 0.40.2 answers and has 1 model.').click()
    await page.getByText('probed with other weights than it has now').waitFor()
    await button(page, 'Probe again: qwen3:4b').waitFor()
  })
})

describe('the context meter', () => {
  it('says in words and numbers how full it is, and warns of a cut prompt', async () => {
    const { page } = await enter(usual())
    await prompt(page, 'menu')
    const meter = button(page, /^Context 39 % full/)
    await meter.waitFor()
    assert.match(await meter.innerText(), /window assumed/)
    assert.match(await meter.getAttribute('title'), /2,400 of 6,144 usable tokens, window 8,192, 1,500 from cache/)
    const id = new URL(page.url()).hash.split('/').pop()
    fake.emit(id, 'budget', { window: 8192, used: 5000, usable: 6144 })
    await button(page, /^Context 81 % full, filling up/).waitFor()
    fake.emit(id, 'budget', { window: 8192, used: 6000, usable: 6144 })
    await button(page, /^Context 98 % full, nearly full/).waitFor()
    fake.emit(id, 'nudge', { kind: 'window', text: 'Give it a larger window.' })
    const cut = button(page, /prompt was cut/)
    await cut.waitFor()
    await cut.click()
    await page.getByText('it left out a part of the conversation').waitFor()
    await page.getByText('The engine cut the prompt').waitFor()
    await axeCheck(page, 'the meter')
  })
})

describe('the recorded job', () => {
  it('plays without a model and without asking the server for anything', async () => {
    const { page, requests } = await enter(none())
    await page.getByRole('link', { name: 'Play a recorded job' }).click()
    await page.getByText('Scripted: no model is running. This is a recording').waitFor()
    await armed(page)
    const before = requests.filter((r) => r.includes('/api/')).length
    await page.locator('[data-card]').getByText('Saturday: 7:00 to 14:00').first().waitFor()
    await axeCheck(page, 'the recording')
    // By keyboard: the card is gone to, and answered.
    await page.keyboard.press('F6')
    await page.keyboard.press('e')
    await button(page, 'Allow as edited').click()
    await page.getByText('In a recording there is only yes or no').waitFor()
    await page.locator('[data-card]').getByRole('button', { name: 'Cancel' }).click()
    await page.keyboard.press('y')
    await page.locator('[data-card]').getByText('sh check.sh').first().waitFor()
    await armed(page)
    await button(page, /^Allow once/).click()
    await page.getByText('your check found no mistakes').waitFor()
    await page.getByText('That was the whole job.').waitFor()
    assert.equal(requests.filter((r) => r.includes('/api/')).length, before, 'it asked the server nothing')
    assert.deepEqual(fake.log, [], 'and sent no turn')
    await button(page, 'Start a chat of your own').click()
    await page.getByRole('heading', { name: 'First, an engine that runs models' }).waitFor()
    assert.equal(await page.getByText('No chats yet').count(), 1, 'it is no chat')
  })
  it('goes another way after a no, with the reason that was given, and from help', async () => {
    const { page } = await enter(usual())
    await button(page, 'Tour').click()
    await armed(page)
    await button(page, /^Deny and say why/).click()
    await page.getByLabel('Why not?').fill('ask my sister first')
    await button(page, 'Deny with this reason').click()
    await page.getByText('I left hours.html as it is').waitFor()
    await page.getByText('denied by you').first().waitFor()
    await button(page, /Edit hours.html/).click()
    await page.getByText('ask my sister first').first().waitFor()
    await button(page, 'Play again').click()
    await armed(page)
    await page.reload()
    await page.getByText('Scripted: no model is running').waitFor()
    await button(page, 'Leave').click()
    await message(page).waitFor()
  })
})

describe('the doctor', () => {
  it('shows what it finds, in words', async () => {
    const { page } = await enter(usual())
    await button(page, 'Settings').click()
    await button(page, 'Look').click()
    for (const words of ['Not everything is in order.', 'in order', 'could be better', 'wrong', 'not known', 'Commands are asked about.']) await page.getByText(words, { exact: words.length < 20 }).first().waitFor()
    await button(page, 'Copy: ollama serve').waitFor()
    await axeCheck(page, 'the doctor')
  })
})

describe('on a narrow screen, and in the dark', () => {
  const narrow = { viewport: { width: 320, height: 640 }, scheme: 'dark' }
  for (const [what, listing, heading] of [['no engine', () => ({ ...none(), engines: [key()] }), 'First, an engine'], ['no model', empty, 'Now a model'], ['a choice', many, 'Which model?']]) {
    it(what + ' fits', async () => {
      const { page } = await enter(listing(), narrow)
      await page.getByRole('heading', { name: heading }).waitFor()
      assert.ok(await fitsWidth(page))
      await axeCheck(page, what)
    })
  }
  it('the picker, the dialog and the recording fit', async () => {
    const { page } = await enter(usual(), narrow)
    await picker(page).click()
    await page.getByRole('searchbox').waitFor()
    assert.ok(await page.locator('[popover]:popover-open').evaluate((e) => e.getBoundingClientRect().left >= 0 && e.getBoundingClientRect().right <= innerWidth && e.getBoundingClientRect().bottom <= innerHeight))
    await axeCheck(page, 'the picker')
    await button(page, 'Add engine').click()
    await page.getByLabel('Address').waitFor()
    assert.ok(await fitsWidth(page))
    await axeCheck(page, 'the dialog')
    await page.keyboard.press('Escape')
    await page.evaluate(() => (location.hash = '#/tour'))
    await armed(page)
    assert.ok(await fitsWidth(page))
    await axeCheck(page, 'the recording')
  })
})
