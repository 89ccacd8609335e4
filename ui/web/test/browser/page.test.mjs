// The page in a browser, against the stand-in server.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { chromiumPath, launch, open, prompt, signedIn, startFake } from './harness.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let browser
let fake
const opened = []

before(async () => {
  chromiumPath()
  browser = await launch()
})
after(async () => await browser?.close())
beforeEach(async () => {
  fake = await startFake({ speed: 0.12 })
})
afterEach(async () => {
  for (const { context, complaints } of opened.splice(0)) {
    await context.close()
    assert.deepEqual(complaints, [], 'the browser complained, as it does about the security policy')
  }
  await fake.close()
})

const keep = (o) => (opened.push(o), o)
const enter = async (o) => keep(await signedIn(browser, fake, o))
const button = (page, name) => page.getByRole('button', { name, exact: typeof name === 'string' })
const allow = (page) => button(page, /^Allow once/)
const status = async (locator, want) => {
  for (let i = 0; i < 80; i++) {
    if (await want(await locator())) return
    await new Promise((r) => setTimeout(r, 50))
  }
  assert.fail('it did not come to that: ' + want)
}
const focused = (page) => page.evaluate(() => document.activeElement?.id || document.activeElement?.className || document.activeElement?.tagName)

async function axeCheck(page, what) {
  // The check is put in by the debugger, which the page's policy does not reach.
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
  const bad = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
  assert.deepEqual(
    bad.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ') + ' ' + (n.any[0]?.message ?? '')).join(' | ')}`),
    [],
    what,
  )
}

describe('signing in', () => {
  it('takes the code from the address, at once and once', async () => {
    const { page, requests } = keep(await open(browser, fake, { path: '#code=CODE' }))
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    assert.equal(new URL(page.url()).hash, '')
    assert.ok(!requests.some((r) => r.includes('CODE')), 'the code is in no address')
    assert.equal(await page.evaluate(() => sessionStorage.getItem('jackline.token')), 'TOKEN')
    assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes('TOKEN')), false)
    await page.reload()
    await page.getByRole('textbox', { name: 'Message' }).waitFor()

    const second = keep(await open(browser, fake, { path: '#code=CODE' }))
    await second.page.getByText('a link works once').waitFor()
  })
  it('takes a pasted token, and says when it is wrong', async () => {
    const { page } = keep(await open(browser, fake))
    await page.getByLabel('Token', { exact: true }).fill('WRONG')
    await page.keyboard.press('Enter')
    await page.getByText('does not take this token').waitFor()
    assert.equal(await page.getByLabel('Token', { exact: true }).getAttribute('autocomplete'), 'current-password')
    await axeCheck(page, 'sign-in')
    await page.getByLabel('Token', { exact: true }).fill(' TOKEN ')
    await button(page, 'Sign in').click()
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
  })
  it('asks again when the server no longer takes the token', async () => {
    const { page } = await enter()
    await page.evaluate(() => sessionStorage.setItem('jackline.token', 'OLD'))
    await page.reload()
    await page.getByLabel('Token', { exact: true }).waitFor()
  })
})

describe('a turn', () => {
  it('runs from prompt to answer', async () => {
    const { page, requests } = await enter()
    await prompt(page, 'Make the menu sticky')
    await page.getByText('I will look at the styles').waitFor()
    await allow(page).waitFor()
    assert.match(await page.title(), /^\(1\) Make the menu sticky/)
    await page.getByText('Needs you').first().waitFor()
    // The card: action, place, reason, who, undo, end.
    const card = page.locator('[data-card]')
    for (const words of ['position: sticky', '/home/demo/site', 'medium risk', 'Mode allow-reads asks', 'this chat, step 2', 'can be restored', 'waits 23 h', 'changes to files in']) {
      assert.ok((await card.innerText()).includes(words), words)
    }
    assert.equal(await focused(page), 'composer', 'the card takes no focus')
    await allow(page).click()
    await page.getByText('Which browsers must this work in?').waitFor()
    await button(page, 'Also two years old').click()
    await page.getByRole('heading', { name: 'What changed' }).waitFor()
    await page.getByText('5.2k in · 312 out · cached 79 %').waitFor()
    assert.equal(await page.getByRole('log').getAttribute('aria-busy'), 'false')
    assert.match(await page.title(), /^Make the menu sticky/)
    await button(page, /Read 2 items, 1 search/).click()
    await button(page, /^Search: /).click()
    await page.getByRole('cell', { name: 'main.css' }).waitFor()
    await button(page, /Run npm test/).click()
    await page.getByText('ℹ pass 3').waitFor()
    await page.getByText('exit 0').waitFor()
    assert.ok(requests.every((r) => r.startsWith(fake.url)), 'nothing comes from elsewhere')
    await axeCheck(page, 'a finished chat')
  })
  it('shows what is being written of a call, quietly, and never as text', async () => {
    const { page } = await enter()
    await prompt(page, 'writing')
    const writing = page.locator('.writing')
    const grows = async (what, longer) => {
      let before = ''
      await status(async () => (await what.count()) && (await what.first().textContent()), (now) => {
        const grew = before !== '' && now && now !== before && longer(now, before)
        before ||= now || ''
        return grew
      })
    }
    await grows(writing.locator('code'), (now) => now.includes('of the log'))
    assert.equal(await button(page, /Preparing demo_write/).getAttribute('aria-expanded'), 'false')
    assert.match(await writing.locator('code').evaluate((e) => getComputedStyle(e).fontFamily), /mono/)
    await button(page, /Preparing demo_write/).click()
    await grows(writing.locator('pre'), (now, before) => now.length > before.length && now.startsWith(before))
    assert.equal(await page.locator('.md').getByText('of the log').count(), 0)
    await page.getByText('It is written down.').waitFor()
    assert.equal(await writing.count(), 0)
    await page.reload()
    await page.getByText('It is written down.').waitFor()
    assert.equal(await page.getByRole('log').getByText('line 40 of the log').count(), 0)
  })
  it('shows links and pictures as words, and asks before it opens them', async () => {
    const { page } = await enter()
    await prompt(page, 'menu')
    await allow(page).click()
    await button(page, 'Current ones').click()
    const link = page.getByRole('link', { name: 'the notes on sticky positioning' })
    await link.click()
    await page.getByRole('dialog').getByText('https://example.org/css/position?from=demo#sticky').waitFor()
    const go = page.getByRole('dialog').getByRole('link', { name: 'Open' })
    assert.equal(await go.getAttribute('rel'), 'noopener noreferrer')
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('.md img').count(), 0)
    await page.getByRole('link', { name: 'picture: diagram' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('https://example.org/pic.png').waitFor()
  })
  it('keeps markup of a model text, and its states and notes are there', async () => {
    const { page } = await enter()
    await prompt(page, 'notes')
    await page.getByText('Raw <script>alert(1)</script> and <img src=x onerror=alert(2)> stay text. bad').waitFor()
    assert.equal(await page.getByRole('link', { name: 'bad' }).count(), 0)
    for (const words of ['unknown, check', 'denied by rule P4', 'expired', 'exit 2', 'condensed from 21,000 to 12,400', 'Going in circles', 'Water the plants', 'trying again', 'Reminded to look things up']) {
      await page.getByText(words).first().waitFor()
    }
    await button(page, /Read big.log/).click()
    await page.getByText('80,000 bytes were left out').waitFor()
    await button(page, 'Show the whole result').click()
    await page.getByText('END OF FILE').waitFor()
    await axeCheck(page, 'notes')
  })
  it('offers to continue at the step limit', async () => {
    const { page } = await enter()
    await prompt(page, 'limit')
    await page.getByRole('log').getByText('the limit of 6 steps was reached').waitFor()
    await button(page, 'Continue').click()
    await allow(page).waitFor()
    assert.ok(fake.log.some((l) => l.body.continue && l.body.onAsk === 'wait'))
  })
})

describe('the card', () => {
  it('is answered by key, only while it has the focus', async () => {
    const { page } = await enter()
    await prompt(page, 'menu')
    await allow(page).waitFor()
    await page.waitForTimeout(500)
    await page.getByRole('textbox', { name: 'Message' }).pressSequentially('yn')
    assert.equal(await allow(page).count(), 1, 'keys in the composer are words')
    await page.keyboard.press('F6')
    await page.keyboard.press('y')
    await button(page, 'Current ones').waitFor()
    assert.equal([...fake.approvals.values()][0].state, 'approved')
  })
  it('says what a task or chat permission covers, and gives it', async () => {
    const { page } = await enter()
    await prompt(page, 'menu')
    await page.getByText('A task or chat permission covers').waitFor()
    await button(page, /^This chat/).click()
    await button(page, 'Current ones').waitFor()
    assert.equal([...fake.approvals.values()][0].answer.scope, 'chat')
    await button(page, 'Settings').click()
    await page.getByRole('dialog').getByText('this chat').waitFor()
    await button(page, /^Revoke/).click()
    await page.getByText('Nothing beyond single answers').waitFor()
  })
  it('is denied with a reason', async () => {
    const { page } = await enter()
    await prompt(page, 'menu')
    await allow(page).waitFor()
    await page.waitForTimeout(500)
    await page.keyboard.press('F6')
    await page.keyboard.press('d')
    await page.getByLabel('Why not?').fill('leave the styles alone')
    await button(page, 'Deny with this reason').click()
    await page.getByText('Then I leave the style sheet').waitFor()
    assert.equal([...fake.approvals.values()][0].answer.reason, 'leave the styles alone')
    await page.getByText('denied by you').first().waitFor()
  })
  it('takes edited arguments, and shows what is wrong with them', async () => {
    const { page } = await enter()
    await prompt(page, 'menu')
    await button(page, /^Edit and allow/).click()
    const box = page.getByLabel('Arguments, as JSON')
    await box.fill('{"path": ')
    await button(page, 'Allow as edited').click()
    await page.getByText('This is not JSON').waitFor()
    await box.fill('{"path": "/etc/passwd"}')
    await button(page, 'Allow as edited').click()
    await page.getByText('outside the workspace').waitFor()
    await box.fill('{"path": "menu.css"}')
    await button(page, 'Allow as edited').click()
    await button(page, 'Current ones').waitFor()
    assert.deepEqual([...fake.approvals.values()][0].args, { path: 'menu.css' })
  })
  it('of high risk is opened first and confirmed, and shows what hides', async () => {
    const { page } = await enter()
    await prompt(page, 'danger')
    await button(page, 'Show all 26 lines').waitFor()
    await page.waitForTimeout(500)
    const card = page.locator('[data-card]')
    assert.equal(await allow(page).isDisabled(), true)
    for (const words of ['U+0430', 'RLO', 'PDF', 'high risk', 'deletes', 'someone else could have written', 'cannot be brought back', 'exam']) {
      assert.ok((await card.innerText()).includes(words), words)
    }
    assert.ok(!(await card.innerText()).includes('part 20'))
    await axeCheck(page, 'a card of high risk')
    await page.keyboard.press('F6')
    await page.keyboard.press('y')
    await page.getByText('part 24 of a long script').first().waitFor()
    assert.ok((await card.innerText()).includes('ZWSP'))
    await page.keyboard.press('y')
    await button(page, /Press again to allow/).waitFor()
    assert.equal([...fake.approvals.values()][0].state, 'pending')
    await page.keyboard.press('Escape')
    assert.equal(await button(page, /Press again/).count(), 0)
    await page.keyboard.press('y')
    await page.keyboard.press('y')
    await page.getByText('The build is gone.').waitFor()
  })
  it('goes when somebody else answers, and says who', async () => {
    const { page } = await enter()
    await prompt(page, 'menu')
    await allow(page).waitFor()
    fake.answer([...fake.approvals.keys()][0], 'denied', 'cli')
    await page.getByText('Already answered from the terminal').waitFor({ state: 'attached' })
    await status(() => allow(page).count(), (n) => n === 0)
  })
  it('that was answered meanwhile says so at the click', async () => {
    const { page } = await enter()
    await prompt(page, 'menu')
    await allow(page).waitFor()
    const a = [...fake.approvals.values()][0]
    a.state = 'used'
    a.answer = { by: 'cli' }
    await allow(page).click()
    await page.getByText('Already answered from the terminal').first().waitFor()
    await status(() => allow(page).count(), (n) => n === 0)
  })
  it('comes in a row when there are several', async () => {
    const { page } = await enter()
    await prompt(page, 'two')
    await page.getByText('1 of 2 waiting').waitFor()
    await button(page, 'Next question').click()
    await page.getByText('2 of 2 waiting').waitFor()
    await page.locator('[data-card]').getByText('Create b.txt').first().waitFor()
    await page.waitForTimeout(500)
    await page.keyboard.press('n')
    await page.locator('[data-card]').getByText('Create a.txt').first().waitFor()
    await page.keyboard.press('y')
    await page.waitForTimeout(600)
    await page.keyboard.press('y')
    await page.getByText('Done: approved, denied.').waitFor()
  })
  it('of another chat is reached from the list', async () => {
    const { page } = await enter()
    const other = fake.newSession({ title: 'Other chat' })
    fake.start(other.id, 'menu')
    await button(page, /Edit nav.css Other chat/).click()
    await allow(page).click()
    await button(page, 'Current ones').waitFor()
    assert.match(page.url(), new RegExp(other.id))
  })
  it('of nobody’s chat is answered in a window of its own', async () => {
    fake.approvals.set('a_api', {
      id: 'a_api', kind: 'call', session: '', step: 0, call: 'c_api', tool: 'demo_run', title: 'Run make', args: { command: 'make' }, effects: ['exec'],
      touches: null, view: { shape: 'terminal', text: 'make' }, risk: 'medium', why: 'Commands are asked for.', rule: 'mode', scopes: ['once'],
      folder: '/home/demo/site', created: new Date().toISOString(), expires: new Date(Date.now() + 60_000).toISOString(), state: 'pending',
    })
    const { page } = await enter()
    await button(page, /Run make/).click()
    const box = page.getByRole('dialog')
    await box.getByText('a request over the API').waitFor()
    await box.getByText(/expires in \d/).waitFor()
    await axeCheck(page, 'a card in a window')
    await box.getByRole('button', { name: /^Allow once/ }).click()
    await status(() => fake.approvals.get('a_api').state, (s) => s === 'approved')
    await status(() => box.count(), (n) => n === 0)
  })
  it('with questions takes several choices, own words, and a no', async () => {
    const { page } = await enter()
    await prompt(page, 'questions')
    await button(page, 'red').click()
    await button(page, 'blue').click()
    await button(page, 'Answer').click()
    await page.getByText('Answer every question').waitFor()
    await page.getByLabel('Your own answer').nth(1).fill('Purple')
    await axeCheck(page, 'questions')
    await button(page, 'Answer').click()
    await page.getByText('You said [["red","blue"],["Purple"]].').waitFor()
    await prompt(page, 'questions')
    await button(page, 'Decline to answer').click()
    await page.getByText('You would rather not say.').waitFor()
  })
})

describe('while it runs', () => {
  it('a reload loses nothing', async () => {
    const { page } = await enter()
    await prompt(page, 'slow')
    await page.getByText('Number 8 of many').waitFor()
    await page.reload()
    await page.getByText('Number 1 of many').waitFor()
    await page.getByText('Number 30 of many').waitFor()
    const text = await page.getByRole('log').innerText()
    for (let i = 1; i < 30; i++) assert.equal(text.split(`Number ${i} of`).length, 2, `Number ${i} is there once`)
    await button(page, 'Stop').click()
    await page.getByRole('log').getByText('Stopped: stopped by you').waitFor()
  })
  it('a broken line is mended, and nothing is there twice', async () => {
    const { page } = await enter()
    await prompt(page, 'slow')
    await page.getByText('Number 5 of many').waitFor()
    fake.setDown(true)
    await page.getByText(/Reconnecting \(\d\)/).first().waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('kept words')
    await page.waitForTimeout(700)
    fake.setDown(false)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByText('Number 60 of many').waitFor()
    const text = await page.getByRole('log').innerText()
    for (let i = 1; i < 60; i++) assert.equal(text.split(`Number ${i} of`).length, 2, `Number ${i} is there once`)
    assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'kept words')
    await button(page, 'Stop').click()
    await page.getByRole('log').getByText('Stopped: stopped by you').waitFor()
  })
  it('words are queued, edited, removed, and steer', async () => {
    const { page } = await enter()
    await prompt(page, 'slow')
    await page.getByText('Number 2 of many').waitFor()
    await prompt(page, 'first in line')
    await prompt(page, 'limit is next')
    await button(page, 'Edit queued message: first in line').click()
    await page.getByRole('textbox', { name: 'Edit queued message' }).fill('notes, better')
    await page.keyboard.press('Enter')
    await page.getByText('notes, better').waitFor()
    await button(page, 'Remove queued message: limit is next').click()
    await status(() => page.getByRole('list', { name: 'Queued messages' }).getByRole('listitem').count(), (n) => n === 1)
    await page.getByRole('textbox', { name: 'Message' }).fill('enough now')
    await page.keyboard.press('Control+Enter')
    await page.getByText('All right: enough now.').waitFor()
    await page.getByText('You, meanwhile').waitFor()
    // The queued turn follows by itself.
    await page.getByText('stay text. bad').waitFor()
    assert.equal(await page.getByRole('list', { name: 'Queued messages' }).count(), 0)
  })
  it('stop says what it does', async () => {
    const { page } = await enter()
    await prompt(page, 'slow')
    await page.getByText('Number 2 of many').waitFor()
    await button(page, 'Stop').click()
    await page.getByRole('log').getByText('Stopped: stopped by you').waitFor()
    await status(() => button(page, 'Stop').count(), (n) => n === 0)
  })
  it('the mode can be changed, and a chat left and found again', async () => {
    const { page } = await enter()
    await prompt(page, 'slow')
    await page.getByText('Number 2 of many').waitFor()
    await page.getByLabel('Permission mode').selectOption('plan')
    await status(() => [...fake.sessions.values()][0].session.mode, (m) => m === 'plan')
    await page.getByRole('textbox', { name: 'Message' }).fill('a draft')
    await button(page, 'New chat').click()
    await page.getByRole('heading', { name: 'What should be done?' }).waitFor()
    await page.goBack()
    await page.getByText('Number 3 of many').waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'a draft')
    await button(page, 'Stop').click()
    await page.getByRole('log').getByText('Stopped: stopped by you').waitFor()
  })
  it('everything is stopped and lifted by one button', async () => {
    const { page } = await enter()
    await prompt(page, 'slow')
    await page.getByText('Number 2 of many').waitFor()
    await button(page, 'Stop everything').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Stop everything' }).click()
    await page.getByText('Everything is stopped.').waitFor()
    await page.getByRole('log').getByText('Stopped: stopped by you').waitFor()
    await prompt(page, 'notes')
    await page.getByText('Lift the stop first').waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'notes', 'the words are kept')
    await button(page, 'Lift').click()
    await status(() => page.getByText('Everything is stopped.').count(), (n) => n === 0)
  })
})

describe('chats', () => {
  it('are found, renamed and deleted', async () => {
    fake.newSession({ title: 'Tax folder' })
    fake.newSession({ title: 'Router config' })
    const { page } = await enter()
    await page.getByRole('link', { name: /Tax folder/ }).waitFor()
    await page.getByLabel('Search chats').fill('router')
    await status(() => page.getByRole('link', { name: /Tax folder/ }).count(), (n) => n === 0)
    await page.getByLabel('Search chats').fill('')
    await page.getByRole('link', { name: /Tax folder/ }).hover()
    await button(page, 'Actions for Tax folder').click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('Taxes')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: /Taxes/ }).hover()
    await button(page, 'Actions for Taxes').click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByText('“Taxes” and everything in it').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await status(() => page.getByRole('link', { name: /Taxes/ }).count(), (n) => n === 0)
    assert.equal(fake.sessions.size, 1)
  })
  it('start in the folder that was asked for, or say why not', async () => {
    const { page } = await enter()
    assert.equal(await page.getByLabel('Folder').inputValue(), '/home/demo/site')
    await page.getByLabel('Folder').fill('/')
    await prompt(page, 'limit')
    await page.getByText('The root folder cannot be a workspace.').first().waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'limit')
    await page.getByLabel('Folder').fill('/home/demo/other')
    await page.getByLabel('Permissions').selectOption('ask')
    await button(page, 'Plan').click()
    await prompt(page, 'limit')
    await page.getByText('There is more to read.').waitFor()
    const { session } = [...fake.sessions.values()][0]
    assert.equal(session.workspace, '/home/demo/other')
    assert.equal(session.mode, 'ask')
    assert.equal(fake.log[0].body.plan, true)
    assert.ok(fake.log[0].body.tz)
  })
})

const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==', 'base64')

/** Drops or pastes files, as a person's hand does. */
const give = (page, kind, files) =>
  page.evaluate(
    ([kind, files]) => {
      const data = new DataTransfer()
      for (const f of files) data.items.add(new File([f.text], f.name, { type: f.type }))
      const on = kind === 'paste' ? document.querySelector('#composer') : document.body
      const event = kind === 'paste' ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }) : new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true })
      on.dispatchEvent(event)
      return event.defaultPrevented
    },
    [kind, files],
  )

describe('attachments', () => {
  const files = (page) => page.getByRole('list', { name: 'Attached files' })

  it('are picked, dropped and pasted, shown with what they are, removed, and sent', async () => {
    const { id } = fake.newSession({ title: 'A chat' })
    const { page } = await enter()
    await page.getByRole('link', { name: /A chat/ }).click()
    const chooser = page.waitForEvent('filechooser')
    await button(page, 'Attach files').click()
    await (await chooser).setFiles([{ name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from('milk\n'.repeat(700)) }, { name: 'cat.png', mimeType: 'image/png', buffer: png }])
    await files(page).getByText('text · 4 kB · about 1k tokens').waitFor()
    await files(page).getByText('PNG · 67 B').waitFor()
    await files(page).getByText('does not see pictures').waitFor()
    assert.equal(await files(page).locator('img').evaluate((i) => i.complete && i.naturalWidth), 1)

    assert.equal(await give(page, 'dragover', [{ name: 'x', text: '' }]), true)
    await page.getByText('Drop to attach').waitFor()
    assert.equal(await give(page, 'drop', [{ name: 'dropped.md', text: '# hello', type: 'text/markdown' }]), true)
    assert.equal(await give(page, 'paste', [{ name: 'image.zip', text: 'PK...', type: 'image/png' }]), true)
    await files(page).getByText('image.zip cannot be attached: it is an archive.').waitFor()
    await axeCheck(page, 'composer with files')

    // What failed is said, and holds the message back until it is gone.
    await prompt(page, 'limit')
    await page.getByRole('alert').getByText('Not everything could be attached').waitFor()
    await button(page, 'Remove image.zip').click()
    await button(page, 'Remove dropped.md').click()
    await status(() => fake.log.filter((l) => l.what === 'detach').length, (n) => n === 1)
    await page.getByRole('textbox', { name: 'Message' }).press('Enter')
    await page.getByText('There is more to read.').waitFor()
    const sent = fake.log.find((l) => l.what === 'turn').body.attachments
    assert.equal(sent.length, 2)
    assert.deepEqual(sent.map((f) => fake.sessions.get(id).files.get(f).a.name), ['list.txt', 'cat.png'])

    // They stand at the message, also after a reload, and can be saved.
    assert.equal(await files(page).count(), 1)
    await page.reload()
    await files(page).getByText('list.txt').waitFor()
    const download = page.waitForEvent('download')
    await files(page).getByRole('button', { name: /list.txt/ }).click()
    assert.equal((await download).suggestedFilename(), 'list.txt')
  })

  it('that are large pictures are made smaller on the way', async () => {
    fake.newSession({ title: 'A chat' })
    const { page } = await enter()
    await page.getByRole('link', { name: /A chat/ }).click()
    await button(page, 'Attach files').waitFor()
    const size = await page.evaluate(async () => {
      const canvas = document.createElement('canvas')
      canvas.width = canvas.height = 1200
      const paint = canvas.getContext('2d')
      const noise = paint.createImageData(1200, 1200)
      for (let i = 0; i < noise.data.length; i += 65536) crypto.getRandomValues(noise.data.subarray(i, Math.min(i + 65536, noise.data.length)))
      paint.putImageData(noise, 0, 0)
      const blob = await new Promise((done) => canvas.toBlob(done, 'image/png'))
      const data = new DataTransfer()
      data.items.add(new File([blob], 'photo.png', { type: 'image/png' }))
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
      return blob.size
    })
    await files(page).getByText('photo.png').waitFor()
    await status(() => fake.log.find((l) => l.what === 'upload'), (l) => !!l)
    const sent = fake.log.find((l) => l.what === 'upload').size
    assert.ok(size > 3700 * 1024 && sent > 1000 && sent < 3700 * 1024, `${size} became ${sent}`)
  })

  it('of a chat that is not made yet go along with its first message, and what fails stays', async () => {
    const { page } = await enter()
    assert.equal(await give(page, 'drop', [{ name: 'ok.txt', text: 'ok', type: 'text/plain' }, { name: 'bad.txt', text: 'PK', type: 'text/plain' }, { name: 'none.txt', text: '' }]), true)
    await files(page).getByText('It is empty.').waitFor()
    await button(page, 'Remove none.txt').click()
    assert.equal(fake.sessions.size, 0)
    await prompt(page, 'limit')
    await files(page).getByText('it is an archive').waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'limit')
    assert.equal(fake.sessions.size, 1)
    await button(page, 'Remove bad.txt').click()
    await page.getByRole('textbox', { name: 'Message' }).press('Enter')
    await page.getByText('There is more to read.').waitFor()
    assert.equal(fake.log.filter((l) => l.what === 'upload').length, 1)
    assert.equal(fake.log.find((l) => l.what === 'turn').body.attachments.length, 1)
    assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), '')
  })
})

describe('folders', () => {
  it('are found with the keyboard, and trusted by a switch that says what it does', async () => {
    const { page } = await enter()
    await page.getByLabel('Folder', { exact: true }).fill('/nowhere')
    await button(page, 'Browse…').click()
    const dialog = page.getByRole('dialog', { name: 'Choose a folder' })
    await dialog.getByRole('button', { name: 'notes' }).waitFor()
    await dialog.getByText('is the whole home folder').waitFor()
    assert.equal(await dialog.getByRole('button', { name: 'Use this folder' }).isDisabled(), true)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: 'src' }).waitFor()
    await dialog.getByText('AGENTS.md (1 kB)').waitFor()
    await page.keyboard.press('Backspace')
    await status(() => page.evaluate(() => document.activeElement.textContent.trim()), (t) => t === 'shop') // where one came from
    await page.keyboard.press('Enter')
    const trust = dialog.getByRole('checkbox', { name: 'Trust this folder' })
    await trust.waitFor()
    await axeCheck(page, 'folder picker')
    assert.equal(await trust.isChecked(), false)
    await trust.check()
    await dialog.getByRole('button', { name: 'Use this folder' }).click()
    assert.equal(await page.getByLabel('Folder', { exact: true }).inputValue(), '/home/demo/shop')
    const outside = page.getByRole('checkbox', { name: 'Trust this folder' })
    await outside.waitFor()
    assert.equal(await outside.isChecked(), true)
    await outside.uncheck()
    await status(() => outside.isChecked(), (on) => !on)
    await button(page, 'Browse…').click()
    await dialog.getByRole('button', { name: 'home' }).click()
    await dialog.getByRole('button', { name: 'demo' }).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), 'Browse…')
    await prompt(page, 'limit')
    await page.getByText('There is more to read.').waitFor()
    assert.equal([...fake.sessions.values()][0].session.workspace, '/home/demo/shop')
  })
})

describe('settings', () => {
  it('are shown, changed, and say what is wrong', async () => {
    const { page } = await enter()
    await button(page, 'Settings').click()
    const box = page.getByRole('dialog')
    await box.getByText('fixed by flag or environment').waitFor()
    assert.equal(await box.getByLabel('Rules').inputValue(), 'allow demo_run(make test)')
    await box.getByLabel('Rules').fill('allow demo_run(make test)\nperhaps')
    await box.getByRole('button', { name: 'Save' }).first().click()
    await box.getByText('Line 2').waitFor()
    await box.getByLabel('Rules').fill('allow demo_run(make test)\ndeny demo_find')
    await box.getByLabel('Use the network').uncheck()
    await box.getByRole('button', { name: 'Save' }).first().click()
    await box.getByText('Saved').waitFor()
    await box.getByLabel(/A question waits/).fill('60')
    await box.getByRole('button', { name: 'Save' }).first().click()
    await box.getByText('is fixed by JACKLINE_PERMISSIONS_APPROVAL_TIMEOUT').waitFor()
    await box.getByLabel('Steps a turn may take').fill('5000')
    await box.getByRole('button', { name: 'Save' }).nth(1).click()
    await box.getByText('maxSteps is at most 2000.').waitFor()
    await axeCheck(page, 'settings')
  })
})

describe('narrow and dark', () => {
  for (const [width, height] of [[390, 844], [320, 568]]) {
    it(`works at ${width} by ${height}`, async () => {
      const { page } = await enter({ viewport: { width, height }, hasTouch: true, isMobile: true })
      const fits = async (what) => assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, what + ' fits')
      await fits('a new chat')
      await prompt(page, 'menu')
      await allow(page).waitFor()
      await fits('the card')
      for (const b of [allow(page), button(page, 'Stop'), button(page, /^Deny/).first()]) {
        await b.scrollIntoViewIfNeeded()
        const box = await b.boundingBox()
        assert.ok(box.height >= 44 && box.y >= 0 && box.y + box.height <= height, 'in view and large enough')
      }
      await axeCheck(page, 'the card on a phone')
      await allow(page).click()
      await button(page, 'Current ones').click()
      await page.getByText('for old browsers').waitFor()
      await fits('the answer')
      // A card elsewhere is reached from here, too.
      const other = fake.newSession({ title: 'Other chat' })
      fake.start(other.id, 'menu')
      await button(page, /Needs you 1/).click()
      await axeCheck(page, 'the list on a phone')
      await button(page, /Edit nav.css Other chat/).click()
      await allow(page).waitFor()
    })
  }
  it('has enough contrast in the dark', async () => {
    const { page } = await enter({ scheme: 'dark' })
    await axeCheck(page, 'a new chat in the dark')
    await prompt(page, 'danger')
    await button(page, /Show all/).waitFor()
    await page.waitForTimeout(500)
    await axeCheck(page, 'a card in the dark')
    await button(page, /^Deny n/).click()
    await page.getByText('the build stays').waitFor()
    await prompt(page, 'notes')
    await page.getByText('stay text. bad').waitFor()
    await axeCheck(page, 'notes in the dark')
  })
  it('keeps the theme that was chosen', async () => {
    const { page } = await enter()
    await page.getByLabel('Theme').selectOption('dark')
    const dark = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const was = await dark()
    await page.reload({ waitUntil: 'commit' })
    await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark')
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    assert.equal(await dark(), was)
  })
})
