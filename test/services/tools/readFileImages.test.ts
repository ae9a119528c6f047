import { describe, expect, test } from 'vitest'
import { imageSize, imageType } from '../../../src/services/image.ts'

const bytes = (...parts: Array<string | Buffer>) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)))
const hex = (digits: string) => Buffer.from(digits.replaceAll(' ', ''), 'hex')

/** 300 × 200 in every format, as far as the header goes. */
const HEADERS = {
  'image/png': [bytes('\x89PNG\r\n\x1a\n', hex('0000000d'), 'IHDR', hex('0000012c 000000c8 0806000000'))],
  'image/gif': [bytes('GIF87a', hex('2c01 c800 f00000')), bytes('GIF89a', hex('2c01 c800 f00000'))],
  'image/jpeg': [
    hex('ffd8 ffe0 0010 4a46494600010100000100010000 ffc0 0011 08 00c8 012c 03012200021101031101'),
    hex('ffd8 ffe1 0008 457869660000 ffc4 0004 0000 ff ffc2 0011 08 00c8 012c 03012200021101031101'),
  ],
  'image/webp': [
    bytes('RIFF', hex('00000000'), 'WEBPVP8 ', hex('00000000 000000 9d012a 2c01 c800')),
    bytes('RIFF', hex('00000000'), 'WEBPVP8L', hex('00000000 2f 2bc13100 00')),
    bytes('RIFF', hex('00000000'), 'WEBPVP8X', hex('0a000000 00000000 2b0100 c70000')),
  ],
}

describe.each(Object.entries(HEADERS))('%s', (type, headers) => {
  test.each(headers)('is known with its size (kind %#)', (header) => {
    expect([imageType(header), imageSize(header)]).toEqual([type, { width: 300, height: 200 }])
  })

  test('has no size where the header is cut anywhere, and never throws', () => {
    for (const header of headers) {
      for (let length = 0; length < header.length; length++) {
        const size = imageSize(header.subarray(0, length))
        if (size !== null) expect(size).toEqual({ width: 300, height: 200 })
      }
    }
  })
})

test('anything else is no image, whatever it begins like', () => {
  expect(
    ['', 'PNG', 'GIF', 'GIF88a', '\xff\xd8', 'RIFF0000WAVE', '<svg/>', '%PDF-1.7'].map((text) =>
      imageType(bytes(text)),
    ),
  ).toEqual(Array(8).fill(null))
})

test('a JPEG without a frame has no size', () => {
  expect(imageSize(hex('ffd8 ffd9'))).toBeNull()
  expect(imageSize(hex('ffd8 ffe0 0002 ffe0 0002 0000'))).toBeNull()
})
