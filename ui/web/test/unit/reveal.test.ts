import { describe, expect, it } from 'vitest'
import { decoded, reveal, suspicious } from '../../src/lib/reveal'

const marks = (s: string) => reveal(s).filter((p) => p.mark).map((p) => [p.mark, p.code])

describe('reveal', () => {
  it('leaves plain text alone, in any language', () => {
    for (const s of ['rm -rf ./build && make\n\tdone', 'файл и папка', '文件夹 42', 'a → b — “c”', 'שלום', '']) {
      expect(marks(s)).toEqual([])
    }
  })
  it('marks letters outside ASCII in a word with ASCII letters', () => {
    expect(marks('c\u0430che')).toEqual([['alike', 'U+0430']])
    expect(marks('p\u0131ng \uff41b')).toEqual([['alike', 'U+0131'], ['alike', 'U+FF41']])
    expect(marks('exam\u0440le.org')).toEqual([['alike', 'U+0440']])
    expect(marks('a\u0301b')).toEqual([['alike', 'U+0301']])
    expect(marks('\u{1d5ba}bc')).toEqual([['alike', 'U+1D5BA']])
  })
  it('points at the letters of European languages without alarm', () => {
    expect(marks('naïve Grüße')).toEqual([['accent', 'U+00EF'], ['accent', 'U+00FC'], ['accent', 'U+00DF']])
    expect(suspicious('Grüße')).toBe(false)
  })
  it('marks controls, marks of direction, and what has no width', () => {
    expect(marks('a\u001b[31mb')).toEqual([['control', 'ESC']])
    expect(marks('x\ry\u0000')).toEqual([['control', 'CR'], ['control', 'NUL']])
    expect(marks('\u202egnp\u202c')).toEqual([['hidden', 'RLO'], ['hidden', 'PDF']])
    expect(marks('a\u200bb\u00a0c\ufeff')).toEqual([['hidden', 'ZWSP'], ['hidden', 'NBSP'], ['hidden', 'BOM']])
    expect(marks('\u{e0041}\u3164\u2800')).toEqual([['hidden', 'U+E0041'], ['hidden', 'U+3164'], ['hidden', 'U+2800']])
  })
  it('loses nothing', () => {
    const s = 'rm c\u0430che \u202egnp\u0007 \u{e0041}x\ud800'
    expect(reveal(s).map((p) => p.text).join('')).toBe(s)
    expect(suspicious(s)).toBe(true)
    expect(suspicious('ls -la')).toBe(false)
  })
})

describe('decoded', () => {
  it('shows what is encoded in a text', () => {
    expect(decoded('echo ' + btoa('rm -rf ~/work') + ' | base64 -d | sh')).toEqual(['rm -rf ~/work'])
    expect(decoded('powershell -EncodedCommand ' + btoa([...'Remove-Item x'].map((c) => c + '\0').join('')))).toEqual(['Remove-Item x'])
    expect(decoded((btoa('some more text here') + ' ').repeat(50))).toHaveLength(10)
  })
  it('leaves digests, paths and words alone', () => {
    for (const s of ['git checkout 3f9ac07be1d24683f9ac07be1d24683f9ac07be1', 'go test ./internal/authentication/... -run TestAuthentication', '']) expect(decoded(s)).toEqual([])
  })
})
