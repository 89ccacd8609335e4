import { beforeEach, describe, expect, it, vi } from 'vitest'

vi.stubGlobal('window', globalThis)
vi.stubGlobal('document', { hidden: false, addEventListener() {} })
vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener() {} }))
vi.stubGlobal('localStorage', { getItem: () => null, setItem() {}, removeItem() {} })
vi.stubGlobal('sessionStorage', { getItem: () => null, setItem() {}, removeItem() {} })

const { app } = await import('../../src/lib/app.svelte')
const { Chips, chipsOf } = await import('../../src/lib/attach.svelte')

const file = (name: string, text = 'x', type = 'text/plain') => new File([text], name, { type })
const sent: string[] = []
const gone: string[] = []
let fails = ''

beforeEach(() => {
  sent.length = gone.length = 0
  fails = ''
  app.client.upload = (async (path: string, f: File) => {
    sent.push(path)
    if (fails) throw new Error(fails)
    return { id: 'f' + sent.length, session: '', name: 'server’s ' + f.name, type: 'text/plain', size: f.size, chars: f.size, created: '' }
  }) as typeof app.client.upload
  app.client.delete = (async (path: string) => void gone.push(path)) as typeof app.client.delete
})

describe('chips', () => {
  it('of a chat are sent at once, under the name that the server gives', async () => {
    const c = new Chips('s1')
    c.add([file('a b.txt')])
    expect(c.ready).toBe(false)
    await vi.waitFor(() => expect(c.ready).toBe(true))
    expect(sent).toEqual(['/api/sessions/s1/attachments?name=a%20b.txt'])
    expect(c.list[0]!.name).toBe('server’s a b.txt')
    expect(c.ids).toEqual(['f1'])
    c.remove(c.list[0]!)
    expect(gone).toEqual(['/api/sessions/s1/attachments/f1'])
    expect(c.list).toEqual([])
  })
  it('wait for a chat that is not made yet, and are its own then', async () => {
    const c = chipsOf('')
    c.add([file('a'), file('b')])
    expect([sent, c.ready]).toEqual([[], true])
    expect(await c.moveTo('s2')).toBe(true)
    expect(sent).toHaveLength(2)
    expect(chipsOf('s2')).toBe(c)
    expect(chipsOf('')).not.toBe(c)
  })
  it('that fail say why, and can be tried again', async () => {
    fails = 'It is an archive.'
    const c = new Chips('s3')
    c.add([file('a.zip')])
    await vi.waitFor(() => expect(c.list[0]!.state).toBe('failed'))
    expect(c.list[0]!.error).toBe('It is an archive.')
    expect(await c.moveTo('s3')).toBe(false)
    fails = ''
    c.retry(c.list[0]!)
    await vi.waitFor(() => expect(c.list[0]!.state).toBe('ready'))
  })
  it('are bounded in size and number', async () => {
    const c = new Chips('s4')
    c.add([file('empty', ''), Object.defineProperty(file('large'), 'size', { value: 21 << 20 })])
    expect(c.list.map((x) => x.state)).toEqual(['failed', 'failed'])
    expect(sent).toEqual([])
    c.add(Array.from({ length: 9 }, (_, i) => file('f' + i)))
    expect(c.list).toHaveLength(10)
    expect(c.refused).toMatch(/10 files/)
  })
  it('that are taken off on their way are taken off the server too', async () => {
    const c = new Chips('s5')
    c.add([file('a')])
    c.remove(c.list[0]!)
    await vi.waitFor(() => expect(gone).toEqual(['/api/sessions/s5/attachments/f1']))
  })
})
