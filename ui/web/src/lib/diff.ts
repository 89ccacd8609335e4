// Reads a unified diff without file header.

export interface Line {
  kind: 'hunk' | 'add' | 'del' | 'ctx' | 'meta'
  old: number | null
  now: number | null
  text: string
}

export function parsePatch(patch: string): Line[] {
  const lines: Line[] = []
  let old = 0
  let now = 0
  const raw = patch.split('\n')
  if (raw[raw.length - 1] === '') raw.pop()
  for (const line of raw) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(line)
    if (hunk) {
      old = Number(hunk[1])
      now = Number(hunk[2])
      lines.push({ kind: 'hunk', old: null, now: null, text: line })
    } else if (line.startsWith('+')) lines.push({ kind: 'add', old: null, now: now++, text: line.slice(1) })
    else if (line.startsWith('-')) lines.push({ kind: 'del', old: old++, now: null, text: line.slice(1) })
    else if (line.startsWith(' ') || line === '') lines.push({ kind: 'ctx', old: old++, now: now++, text: line.slice(1) })
    else lines.push({ kind: 'meta', old: null, now: null, text: line })
  }
  return lines
}
