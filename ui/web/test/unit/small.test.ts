import { describe, expect, it } from 'vitest'
import { parsePatch } from '../../src/lib/diff'
import { age, duration, fileKind, folder, gist, size, tail, tokens } from '../../src/lib/format'
import { Blocks, openable } from '../../src/lib/markdown'
import { formatRules, parseRules } from '../../src/lib/rules'

describe('format', () => {
  it('durations', () => {
    expect([0, 140, 9_940, 12_400, 60_000, 125_000, 3_720_000, 86_340_000, 300_000_000].map(duration)).toEqual(['0.0 s', '0.1 s', '9.9 s', '12 s', '1 min', '2 min 5 s', '1 h 2 min', '23 h 59 min', '3 days'])
  })
  it('tokens', () => expect([0, 950, 1000, 1240, 34_000, 1_300_000].map(tokens)).toEqual(['0', '950', '1k', '1.2k', '34k', '1.3M']))
  it('sizes', () => expect([0, 999, 1000, 12_345, 999_499, 1_000_000, 20 << 20].map(size)).toEqual(['0 B', '999 B', '1 kB', '12 kB', '999 kB', '1 MB', '21 MB']))
  it('kinds of files', () => expect(['text/plain', 'application/pdf', 'image/png', ''].map(fileKind)).toEqual(['text', 'PDF', 'PNG', '']))
  it('folders', () => expect(['/home/me/site', '/site/', 'C:\\a\\b', '/'].map(folder)).toEqual(['me/site', 'site', 'a/b', '/']))
  it('ages by day, not by hours', () => {
    const now = new Date(2026, 5, 10, 0, 30)
    expect([new Date(2026, 5, 10, 0, 5), new Date(2026, 5, 9, 23, 50), new Date(2026, 5, 4), new Date(2026, 5, 3)].map((d) => age(d.toISOString(), now))).toEqual(['today', 'week', 'week', 'older'])
  })
  it('tail is the end, on one line', () => {
    expect(tail('{"path":\n  "a"}')).toBe('{"path": "a"}')
    expect(tail('x'.repeat(500) + 'end')).toBe('…' + 'x'.repeat(86) + 'end')
    expect(tail('')).toBe('')
  })
  it('gist is the last sentence', () => {
    expect(gist('One thing. **Another** thing that\nmatters')).toBe('Another thing that matters')
    expect(gist('')).toBe('')
  })
})

describe('patch', () => {
  it('numbers its lines', () => {
    expect(parsePatch('@@ -4,3 +4,3 @@ x\n a\n-b\n+c\n d\n\\ No newline at end of file\n').map((l) => [l.kind, l.old, l.now])).toEqual([
      ['hunk', null, null], ['ctx', 4, 4], ['del', 5, null], ['add', null, 5], ['ctx', 6, 6], ['meta', null, null],
    ])
  })
})

describe('rules', () => {
  it('go there and back, with their examples', () => {
    const before = [{ do: 'allow' as const, pattern: 'toy(make *)', match: ['make x'] }, { do: 'deny' as const, pattern: 'other*' }]
    expect(parseRules(formatRules(before), before)).toEqual({ rules: before })
    expect(parseRules('ask toy(a b)\n\n# note\n', before)).toEqual({ rules: [{ do: 'ask', pattern: 'toy(a b)' }] })
  })
  it('keep the folder in whose chats they hold', () => {
    const before = [
      { do: 'allow' as const, pattern: 'toy(make in /x)', workspace: '/home/me/my site' },
      { do: 'allow' as const, pattern: 'toy(make in /x)' },
      { do: 'deny' as const, pattern: 'toy*', workspace: 'C:\\work' },
    ]
    expect(parseRules(formatRules(before), before)).toEqual({ rules: before })
    expect(parseRules('allow toy(a) in /b\nask toy(cat in b)', [])).toEqual({ rules: [{ do: 'allow', pattern: 'toy(a)', workspace: '/b' }, { do: 'ask', pattern: 'toy(cat in b)' }] })
  })
  it('name the line that is none', () => expect(parseRules('allow a\npermit b', [])).toEqual({ bad: 2 }))
})

describe('Markdown blocks', () => {
  const source = '# Title\n\nPara one\nmore\n\n- a\n\n- b\n  - c\n\n```js\nx\n\ny\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\nEnd.\n'
  it('come out the same in one piece and letter by letter', () => {
    const whole = new Blocks().update(source)
    const cutter = new Blocks()
    let grown: string[] = []
    for (let i = 1; i <= source.length; i++) grown = cutter.update(source.slice(0, i))
    expect(grown.map((b) => b.trim())).toEqual(whole.map((b) => b.trim()))
    expect(whole).toHaveLength(6)
  })
  it('do not change once another follows', () => {
    const cutter = new Blocks()
    const first = cutter.update('One.\n\nTwo')[0]
    expect(cutter.update('One.\n\nTwo and\n\nThree')[0]).toBe(first)
  })
  it('start anew when the text is another', () => {
    const cutter = new Blocks()
    cutter.update('One.\n\nTwo')
    expect(cutter.update('Else')).toEqual(['Else'])
    expect(cutter.update('')).toEqual([])
  })
  it('lose nothing', () => {
    for (const s of [source, 'a\tb\n\n\tcode\n\nx', '> q\n> r\n\nz', '1. a\n2. b\n\n\n\nend', '   \n\n']) {
      expect(new Blocks().update(s).join('').replace(/\s/g, '')).toBe(s.replace(/\s/g, ''))
    }
  })
})

it('only web and mail addresses may be opened', () => {
  expect(['https://a.org/x', 'http://a.org', 'mailto:a@b.c'].map(openable)).toEqual(['https://a.org/x', 'http://a.org/', 'mailto:a@b.c'])
  expect(['javascript:alert(1)', 'data:text/html,x', 'file:///etc', '/api/x', '//a.org', 'jackline:x', ''].map(openable)).toEqual(['', '', '', '', '', '', ''])
})
