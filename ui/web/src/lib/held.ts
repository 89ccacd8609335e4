import { t } from './strings'
import type { Sandbox } from './types'

// What holds a command and what is open to it, in one line; '' where nothing holds it.
export function held(s: Sandbox): string {
  if (s.level === 'none') return ''
  const open = [
    s.hosts?.length ? t.card.sandboxHosts(s.hosts) : t.card.sandboxNoNet,
    ...(s.write?.length ? [t.card.sandboxOpen(t.card.sandboxWrite, s.write)] : []),
    ...(s.read?.length ? [t.card.sandboxOpen(t.card.sandboxRead, s.read)] : []),
    ...(s.repository ? [t.card.sandboxGit] : []),
  ]
  return `${t.card.sandboxHolds}: ${open.length > 1 || s.hosts?.length ? open.join('; ') : t.card.sandboxClosed}`
}
