// Markdown to a fixed set of elements. What a model wrote is never trusted: raw HTML is shown as text, pictures become
// links, links carry their address as data and open nothing by themselves, and what is left is sanitised once more.

import DOMPurify from 'dompurify'
import { Marked, type Tokens } from 'marked'
import { t } from './strings'

const escape = (s: string) =>
  s.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')

/** The address if a person may be offered to open it: web and mail only. */
export function openable(href: string): string {
  try {
    const url = new URL(href)
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : ''
  } catch {
    return ''
  }
}

const marked = new Marked({
  gfm: true,
  breaks: false,
  renderer: {
    html(token) {
      return escape(token.text)
    },
    link(token) {
      const inner = this.parser.parseInline(token.tokens)
      const href = openable(token.href)
      return href ? `<a title="${escape(href)}">${inner}</a>` : `<span>${inner}</span>`
    },
    image(token) {
      const href = openable(token.href)
      const inner = escape(t.md.picture(token.text || token.href))
      return href ? `<a title="${escape(href)}">${inner}</a>` : `<span>${inner}</span>`
    },
    checkbox({ checked }) {
      return checked ? '☑ ' : '☐ '
    },
  },
})

const fixed = {
  ALLOWED_TAGS: [
    'p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'strong', 'em', 'del', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li',
    'table', 'thead', 'tbody', 'tr', 'th', 'td', 'a', 'span',
  ],
  ALLOWED_ATTR: ['title', 'start', 'align', 'class'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true as const,
}

// What takes the reader longer than it is worth: lists hundreds deep cost it minutes, and so do thousands of marks in one block.
// No answer that somebody wants to read is like that; it is shown as it is written.
const deepest = 100 // columns before a line's first word
const mostMarks = 3000 // marks of emphasis and links
const longest = 50_000 // characters

function tangled(source: string): boolean {
  return source.length > longest || new RegExp(`^[ \\t>]{${deepest},}`, 'm').test(source) || (source.match(/[*_~[]/g)?.length ?? 0) > mostMarks
}

/** One block of Markdown as nodes that are fit to be put into the page. */
export function render(source: string): DocumentFragment {
  if (tangled(source)) {
    const whole = document.createDocumentFragment()
    const pre = document.createElement('pre')
    pre.textContent = source
    pre.tabIndex = 0
    whole.append(pre)
    return whole
  }
  const html = marked.parse(source, { async: false })
  const fragment = DOMPurify.sanitize(html, fixed)
  for (const a of fragment.querySelectorAll('a')) {
    // Without href there is nothing to follow, to prefetch or to drag out; the page asks first and then opens it.
    a.dataset.href = a.title
    a.setAttribute('role', 'link')
    a.tabIndex = 0
  }
  for (const el of fragment.querySelectorAll('[class]')) {
    if (el.tagName !== 'CODE') el.removeAttribute('class')
  }
  for (const pre of fragment.querySelectorAll('pre')) frameCode(pre)
  for (const table of fragment.querySelectorAll('table')) {
    const box = document.createElement('div')
    box.className = 'md-table'
    box.tabIndex = 0
    box.setAttribute('role', 'region')
    box.setAttribute('aria-label', t.md.table)
    table.replaceWith(box)
    box.append(table)
  }
  return fragment
}

function frameCode(pre: HTMLElement): void {
  const language = /language-([\w+#.-]+)/.exec(pre.querySelector('code')?.className ?? '')?.[1] ?? ''
  const box = document.createElement('div')
  box.className = 'md-code'
  const head = document.createElement('div')
  head.className = 'md-code-head'
  const name = document.createElement('span')
  name.textContent = language
  const copy = document.createElement('button')
  copy.type = 'button'
  copy.className = 'md-copy'
  copy.textContent = t.copy
  head.append(name, copy)
  pre.tabIndex = 0
  pre.replaceWith(box)
  box.append(head, pre)
}

/**
 * Cuts a growing Markdown text into its top-level blocks. Only the last one may still change, so only that is read again
 * when text is added.
 */
export class Blocks {
  #source = ''
  #sealed: string[] = []
  #at = 0

  update(source: string): string[] {
    if (!source.startsWith(this.#source)) {
      this.#sealed = []
      this.#at = 0
    }
    this.#source = source
    const rest = source.slice(this.#at)
    if (tangled(rest)) return rest.trim() ? [...this.#sealed, rest] : [...this.#sealed]
    const tokens: Tokens.Generic[] = marked.lexer(rest)
    let last = tokens.length - 1
    while (last > 0 && tokens[last]!.type === 'space') last--
    let length = 0
    for (let i = 0; i < last; i++) {
      length += tokens[i]!.raw.length
      if (tokens[i]!.type !== 'space') this.#sealed.push(tokens[i]!.raw)
    }
    // The lexer may have changed line ends or tabs; then lengths do not fit and everything is read again next time.
    if (rest.startsWith(tokens.slice(0, Math.max(last, 0)).map((x) => x.raw).join(''))) {
      this.#at += length
      const tail = source.slice(this.#at)
      return tail.trim() ? [...this.#sealed, tail] : [...this.#sealed]
    }
    this.#sealed = []
    this.#at = 0
    return source.trim() ? [source] : []
  }
}
