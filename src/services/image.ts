/** Images as the Messages API takes them. Pure, so every folder that reads files may use it. */

/** The API refuses an image of more than 5 MB, counted in base64. */
export const IMAGE_BYTES = Math.floor((5 * 1024 * 1024) / 4) * 3
/** The API refuses an image that is wider or higher than this, in pixels. */
export const IMAGE_SIDE = 8000

/** @returns the media type by the file's first bytes, null for anything but PNG, JPEG, GIF and WebP */
export function imageType(head: Buffer): string | null {
  const latin = head.toString('latin1', 0, 12)
  if (latin.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (latin.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (latin.startsWith('GIF87a') || latin.startsWith('GIF89a')) return 'image/gif'
  if (latin.startsWith('RIFF') && latin.slice(8, 12) === 'WEBP') return 'image/webp'
  return null
}

/**
 * Reads width and height off the header. An image the API refuses would be refused again with every later request of
 * the session, so one that is known to be too large must not get into it.
 * @returns null where the header does not tell
 */
export function imageSize(image: Buffer): { width: number; height: number } | null {
  try {
    switch (imageType(image)) {
      case 'image/png':
        return { width: image.readUInt32BE(16), height: image.readUInt32BE(20) }
      case 'image/gif':
        return { width: image.readUInt16LE(6), height: image.readUInt16LE(8) }
      case 'image/webp':
        return webpSize(image)
      case 'image/jpeg':
        return jpegSize(image)
      default:
        return null
    }
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** The three kinds of a WebP file: lossy, lossless, extended (RFC 9649). */
function webpSize(image: Buffer): { width: number; height: number } | null {
  switch (image.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: image.readUInt16LE(26) & 0x3fff, height: image.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = image.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: image.readUIntLE(24, 3) + 1, height: image.readUIntLE(27, 3) + 1 }
    default:
      return null
  }
}

/** Goes from segment to segment to the start of frame (ITU T.81: C0 to CF but C4, C8 and CC). */
function jpegSize(image: Buffer): { width: number; height: number } | null {
  let at = 2
  while (image.readUInt8(at) === 0xff) {
    const marker = image.readUInt8(at + 1)
    if (marker === 0xff) at += 1
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { height: image.readUInt16BE(at + 5), width: image.readUInt16BE(at + 7) }
    else at += 2 + image.readUInt16BE(at + 2)
  }
  return null
}
