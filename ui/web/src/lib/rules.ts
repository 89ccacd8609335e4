// Rules as lines: "allow PATTERN". Examples that a stored rule carries stay with it while its line stays the same.

import type { Rule } from './types'

export function formatRules(rules: Rule[]): string {
  return rules.map((r) => `${r.do} ${r.pattern}`).join('\n')
}

export function parseRules(text: string, before: Rule[]): { rules: Rule[] } | { bad: number } {
  const rules: Rule[] = []
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.trim()
    if (!line || line.startsWith('#')) continue
    const m = /^(allow|ask|deny)\s+(\S.*)$/.exec(line)
    if (!m) return { bad: i + 1 }
    const rule: Rule = { do: m[1] as Rule['do'], pattern: m[2]! }
    rules.push(before.find((r) => r.do === rule.do && r.pattern === rule.pattern) ?? rule)
  }
  return { rules }
}
