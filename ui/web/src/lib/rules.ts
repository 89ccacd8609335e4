// Rules as lines: "allow PATTERN", or "allow PATTERN in FOLDER". Examples that a stored rule carries stay with it while its line stays
// the same.

import type { Rule } from './types'

export function formatRules(rules: Rule[]): string {
  return rules.map((r) => `${r.do} ${r.pattern}${r.workspace ? ` in ${r.workspace}` : ''}`).join('\n')
}

// A pattern ends in a parenthesis or is the name of a tool, so an absolute path behind "in" is no part of it.
const inside = /^(\S+\(.*\)|[\w.*-]+)\s+in\s+(\/.*|[A-Za-z]:[\\/].*)$/

export function parseRules(text: string, before: Rule[]): { rules: Rule[] } | { bad: number } {
  const rules: Rule[] = []
  for (const [i, raw] of text.split('\n').entries()) {
    const given = raw.trim()
    if (!given || given.startsWith('#')) continue
    const m = /^(allow|ask|deny)\s+(\S.*)$/.exec(given)
    if (!m) return { bad: i + 1 }
    const there = inside.exec(m[2]!)
    const rule: Rule = { do: m[1] as Rule['do'], pattern: there ? there[1]! : m[2]! }
    if (there) rule.workspace = there[2]!
    rules.push(before.find((r) => r.do === rule.do && r.pattern === rule.pattern && (r.workspace ?? '') === (rule.workspace ?? '')) ?? rule)
  }
  return { rules }
}
