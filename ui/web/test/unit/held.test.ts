import { expect, test } from 'vitest'
import { held } from '../../src/lib/held'

test('a card says what holds a command, and what is open', () => {
  expect(held({ level: 'none' })).toBe('')
  expect(held({ level: 'landlock' })).toBe('the sandbox: no network, and no files outside the workspace')
  expect(held({ level: 'namespaces', repository: true })).toBe('the sandbox: no network; may write in .git, but not its settings and hooks')
  expect(held({ level: 'namespaces', hosts: ['example.org:443'] })).toBe('the sandbox: the network only to example.org:443')
  expect(held({ level: 'namespaces', read: ['/a', '/b'], write: ['/c'] })).toBe('the sandbox: no network; may write /c; may read /a, /b')
})
