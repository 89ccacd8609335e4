// Makes visible what a text hides: control characters, marks that turn the reading direction, characters without width, and
// letters that look like other ones.

export interface Piece {
  text: string
  /** "" is plain text, accent a letter of a word that nobody takes for another; the others are shown so that they cannot be missed. */
  mark: '' | 'accent' | 'control' | 'hidden' | 'alike'
  code: string
}

const names: Record<number, string> = {
  0x00: 'NUL', 0x07: 'BEL', 0x08: 'BS', 0x0b: 'VT', 0x0c: 'FF', 0x0d: 'CR', 0x1b: 'ESC', 0x7f: 'DEL',
  0xa0: 'NBSP', 0xad: 'SHY', 0x200b: 'ZWSP', 0x200c: 'ZWNJ', 0x200d: 'ZWJ', 0x200e: 'LRM', 0x200f: 'RLM',
  0x202a: 'LRE', 0x202b: 'RLE', 0x202c: 'PDF', 0x202d: 'LRO', 0x202e: 'RLO',
  0x2066: 'LRI', 0x2067: 'RLI', 0x2068: 'FSI', 0x2069: 'PDI', 0xfeff: 'BOM', 0x2028: 'LSEP', 0x2029: 'PSEP',
}

// Everything that draws nothing, or draws a blank that is not a space: controls but line feed and tab, format characters,
// separators, fillers, variation selectors, tags, private and unpaired code units.
const hidden =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/u

// The letters that European languages write among ASCII ones, without those that look just like one of them.
const european = /[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u012f\u0132-\u0137\u0139-\u0148\u014a-\u017e]/

const code = (c: string) => {
  const n = c.codePointAt(0)!
  return names[n] ?? 'U+' + n.toString(16).toUpperCase().padStart(4, '0')
}

/** Cuts a text into plain and marked pieces. A word mixing ASCII letters with others has the others marked. */
export function reveal(text: string): Piece[] {
  const out: Piece[] = []
  const plain = (s: string) => {
    const last = out[out.length - 1]
    if (last && last.mark === '') last.text += s
    else out.push({ text: s, mark: '', code: '' })
  }
  const marked = (c: string, mark: Piece['mark']) => out.push({ text: c, mark, code: code(c) })

  // A word is a run of letters, digits and marks: what a person reads as one thing.
  for (const m of text.matchAll(/[\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]/gsu)) {
    const run = m[0]
    if (!/[\p{L}\p{M}\p{N}]/u.test(run)) {
      if (run === '\n' || run === '\t' || !hidden.test(run)) plain(run)
      else marked(run, /\p{Cc}/u.test(run) ? 'control' : 'hidden')
      continue
    }
    const mixed = /[A-Za-z]/.test(run)
    for (const c of run) {
      if (hidden.test(c)) marked(c, 'hidden')
      else if (mixed && c.charCodeAt(0) > 127) marked(c, european.test(c) ? 'accent' : 'alike')
      else plain(c)
    }
  }
  return out
}

/** Whether there is anything that hides or may imitate. */
export function suspicious(text: string): boolean {
  return reveal(text).some((p) => p.mark !== '' && p.mark !== 'accent')
}

const longest = 90

/** A name or sentence from outside as one line of plain text, of at most so many characters: what hides is a replacement character. */
export function plain(text: string, most = longest): string {
  const seen = reveal(text.slice(0, most * 4))
    .map((p) => (p.mark === 'hidden' || p.mark === 'control' ? '\ufffd' : p.text.replace(/[\n\t]/g, ' ')))
    .join('')
  const chars = [...seen]
  return chars.length > most ? chars.slice(0, most - 1).join('') + '…' : seen
}

const most = 10
const longestDecoded = 4000

/** The texts that pieces of a text hold in base64, as a shell or PowerShell would decode them. What decodes to no text, as a digest, is left out. */
export function decoded(text: string): string[] {
  const out: string[] = []
  for (const [piece] of text.matchAll(/[A-Za-z0-9+/_-]{16,}={0,2}/g)) {
    let bytes: Uint8Array
    try {
      bytes = Uint8Array.from(atob(piece.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0))
    } catch {
      continue
    }
    for (const form of ['utf-8', 'utf-16le']) {
      let s: string
      try {
        s = new TextDecoder(form, { fatal: true }).decode(bytes)
      } catch {
        continue
      }
      const chars = [...s]
      const plainOnes = chars.filter((c) => c.codePointAt(0)! < 128).length
      if (chars.length < 6 || plainOnes * 10 < chars.length * 9 || /[^\P{Cc}\n\t\r]/u.test(s)) continue
      out.push(chars.length > longestDecoded ? chars.slice(0, longestDecoded).join('') + '…' : s)
      break
    }
    if (out.length === most) break
  }
  return out
}
