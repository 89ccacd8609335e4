// Numbers and times as people read them.

/** 0.4 s, 12 s, 2 min 5 s, 3 h 2 min */
export function duration(ms: number): string {
  if (!(ms >= 0)) return ''
  if (ms < 9_950) return (Math.max(ms, 0) / 1000).toFixed(1) + ' s'
  const s = Math.round(ms / 1000)
  if (s < 60) return s + ' s'
  const m = Math.floor(s / 60)
  if (m < 60) return m + ' min' + (s % 60 ? ` ${s % 60} s` : '')
  const h = Math.floor(m / 60)
  if (h < 48) return h + ' h' + (m % 60 ? ` ${m % 60} min` : '')
  return Math.round(h / 24) + ' days'
}

/** 950, 1.2k, 34k, 1.3M */
export function tokens(n: number): string {
  if (n < 1000) return String(n)
  if (n < 9_950) return (n / 1000).toFixed(1).replace(/\.0$/, '') + 'k'
  if (n < 999_500) return Math.round(n / 1000) + 'k'
  return (n / 1_000_000).toFixed(1).replace(/\.0$/, '') + 'M'
}

/** 950 B, 12 kB, 3.4 MB */
export function size(bytes: number): string {
  if (bytes < 1000) return bytes + ' B'
  if (bytes < 999_500) return Math.round(bytes / 1000) + ' kB'
  return (bytes / 1_000_000).toFixed(1).replace(/\.0$/, '') + ' MB'
}

/** What a file is, in a word: PDF, JSON, text. */
export function fileKind(type: string): string {
  const word = type.split('/')[1] ?? ''
  return ({ plain: 'text', markdown: 'Markdown' } as Record<string, string>)[word] ?? word.toUpperCase()
}

/** /home/me/site → site, with the folder above it. */
export function folder(path: string): string {
  const parts = path.replace(/[/\\]+$/, '').split(/[/\\]/)
  return parts.slice(-2).filter(Boolean).join('/') || path
}

export type Age = 'today' | 'week' | 'older'

export function age(iso: string, now: Date = new Date()): Age {
  const day = (d: Date) => new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime()
  const days = Math.round((day(now) - day(new Date(iso))) / 86_400_000)
  return days <= 0 ? 'today' : days < 7 ? 'week' : 'older'
}

/** The time for today, else the day. */
export function when(iso: string, now: Date = new Date()): string {
  const d = new Date(iso)
  if (Number.isNaN(d.getTime())) return ''
  if (age(iso, now) === 'today') return d.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
  if (age(iso, now) === 'week') return d.toLocaleDateString(undefined, { weekday: 'short' })
  return d.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
}

/** The last thing that a thought says, on one line. */
export function gist(text: string): string {
  const flat = text.slice(-600).replace(/[#*_`>]+/g, '').replace(/\s+/g, ' ').trim()
  const parts = flat.split(/(?<=[.!?:])\s+/)
  const last = parts[parts.length - 1] ?? ''
  return last.length >= 12 || parts.length < 2 ? last : parts[parts.length - 2] + ' ' + last
}

/** The end of what is being written, on one line. */
export function tail(text: string): string {
  const flat = text.slice(-400).replace(/\s+/g, ' ').trim()
  return flat.length > 90 ? '…' + [...flat].slice(-89).join('') : flat
}

/** 523 MB, 2.5 GB: as download pages count, in thousands. */
export function bytes(n: number): string {
  if (n < 1e6) return Math.max(0, Math.round(n / 1e3)) + ' kB'
  if (n < 1e9) return Math.round(n / 1e6) + ' MB'
  return (n / 1e9).toFixed(n < 9.95e9 ? 1 : 0) + ' GB'
}
