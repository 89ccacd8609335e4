// The files that wait in a composer to go with its next prompt. Each chat has its own, and they stay when another chat is looked at.

import { app, say } from './app.svelte'
import { size } from './format'
import { t } from './strings'
import type { Attachment } from './types'

/** What the server takes at most: of one file, of a picture, and with one prompt. */
const maxFile = 20 * 1024 * 1024
const maxPicture = 3700 * 1024
const maxTogether = 10

export interface Chip {
  key: number
  file: File
  name: string
  preview: string // the address of a picture in memory; "" for anything else
  state: 'waiting' | 'sending' | 'ready' | 'failed' // waiting: for its chat to be made
  error: string
  attachment: Attachment | null
}

let keys = 0

/** The longest side of a picture that was made smaller, in pixels: models look at no more. */
const longest = 2048

/** A picture that is larger than models take is made smaller, as a photograph from a phone mostly is. */
async function fitted(file: File): Promise<Blob> {
  if (file.size <= maxPicture || !/^image\/(png|jpeg|webp)$/.test(file.type)) return file
  try {
    const picture = await createImageBitmap(file)
    const scale = Math.min(1, longest / Math.max(picture.width, picture.height))
    const canvas = document.createElement('canvas')
    canvas.width = Math.max(1, Math.round(picture.width * scale))
    canvas.height = Math.max(1, Math.round(picture.height * scale))
    const paint = canvas.getContext('2d')
    if (!paint) return file
    paint.fillStyle = 'white' // where the picture is transparent
    paint.fillRect(0, 0, canvas.width, canvas.height)
    paint.drawImage(picture, 0, 0, canvas.width, canvas.height)
    picture.close()
    return (await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/jpeg', 0.85))) ?? file
  } catch {
    return file // the server says what is wrong with it
  }
}

export class Chips {
  list = $state<Chip[]>([])
  /** Why a file was not taken at all. */
  refused = $state('')
  #session: string

  constructor(session: string) {
    this.#session = session
  }

  get ready(): boolean {
    return this.list.every((c) => c.state === 'ready' || c.state === 'waiting')
  }

  /** Takes files, and sends them on where there is a chat to have them. */
  add(files: Iterable<File>): void {
    this.refused = ''
    for (const file of files) {
      if (this.list.length >= maxTogether) {
        this.refused = t.attach.tooMany(maxTogether)
        return
      }
      const picture = /^image\/(png|jpeg|gif|webp)$/.test(file.type)
      this.list.push({
        key: ++keys,
        file,
        name: file.name || t.attach.pasted,
        preview: picture ? URL.createObjectURL(file) : '',
        state: 'waiting',
        error: '',
        attachment: null,
      })
      const chip = this.list[this.list.length - 1]!
      if (file.size > maxFile) this.#fail(chip, t.attach.tooLarge(size(maxFile)))
      else if (file.size === 0) this.#fail(chip, t.attach.empty)
      else if (this.#session) this.#send(chip)
    }
  }

  #fail(chip: Chip, why: string): void {
    chip.state = 'failed'
    chip.error = why
    app.urgent = t.attach.failed(chip.name, why)
  }

  async #send(chip: Chip): Promise<void> {
    chip.state = 'sending'
    chip.error = ''
    try {
      chip.attachment = await app.client.upload<Attachment>(
        `/api/sessions/${this.#session}/attachments?name=${encodeURIComponent(chip.name.slice(-200))}`,
        await fitted(chip.file),
      )
      chip.name = chip.attachment.name
      chip.state = 'ready'
      app.polite = t.attach.added(chip.name)
      // It was taken off while it was on its way.
      if (!this.list.some((c) => c.key === chip.key)) this.#drop(chip)
    } catch (e) {
      this.#fail(chip, say(e))
    }
  }

  retry(chip: Chip): void {
    if (this.#session && chip.file.size > 0 && chip.file.size <= maxFile) this.#send(chip)
  }

  remove(chip: Chip): void {
    this.refused = ''
    this.list = this.list.filter((c) => c.key !== chip.key)
    if (chip.preview) URL.revokeObjectURL(chip.preview)
    this.#drop(chip)
  }

  #drop(chip: Chip): void {
    if (!chip.attachment) return
    // That it stays on the server is no loss: it goes with the chat.
    app.client.delete(`/api/sessions/${this.#session}/attachments/${chip.attachment.id}`).catch(() => {})
  }

  /** The chat has been made: its files go there. They are the new chat's from now on. */
  async moveTo(session: string): Promise<boolean> {
    if (!this.#session) {
      chips.set(session, this)
      chips.delete('')
      this.#session = session
    }
    await Promise.all(this.list.filter((c) => c.state === 'waiting').map((c) => this.#send(c)))
    return this.list.every((c) => c.state === 'ready')
  }

  get ids(): string[] {
    return this.list.map((c) => c.attachment!.id)
  }

  /** They went with a prompt. */
  clear(): void {
    for (const chip of this.list) if (chip.preview) URL.revokeObjectURL(chip.preview)
    this.list = []
    this.refused = ''
  }
}

const chips = new Map<string, Chips>()

/** The files that wait in the composer of a chat; "" is the chat that is not made yet. */
export function chipsOf(session: string): Chips {
  let c = chips.get(session)
  if (!c) chips.set(session, (c = new Chips(session)))
  return c
}

/** Saves a file of a chat on the person's machine. */
export async function save(session: string, a: Attachment): Promise<void> {
  await app.try(async () => {
    const url = URL.createObjectURL(await app.client.blob(`/api/sessions/${session}/attachments/${a.id}`))
    const link = document.createElement('a')
    link.href = url
    link.download = a.name
    link.click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  })
}
