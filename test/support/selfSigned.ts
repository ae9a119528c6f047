/** A self-signed certificate for servers on loopback, made anew for each test run: no key lies in the repository. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const SEQUENCE = 0x30
const SET = 0x31
const OBJECT_ID = {
  commonName: Buffer.from('550403', 'hex'),
  ecdsaWithSha256: Buffer.from('2a8648ce3d040302', 'hex'),
  basicConstraints: Buffer.from('551d13', 'hex'),
  subjectAltName: Buffer.from('551d11', 'hex'),
}

/** @returns key and certificate as PEM; the certificate is valid for these names until 2049. */
export function selfSigned(names: string[]): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(SEQUENCE, der(0x06, OBJECT_ID.ecdsaWithSha256))
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, der(0x06, OBJECT_ID.commonName), der(0x0c, Buffer.from('test')))))
  const altNames = der(SEQUENCE, ...names.map(altName))
  const extensions = der(
    SEQUENCE,
    extension(OBJECT_ID.basicConstraints, der(SEQUENCE, der(0x01, Buffer.from([0xff])))),
    extension(OBJECT_ID.subjectAltName, altNames),
  )
  const body = der(
    SEQUENCE,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(8)])),
    algorithm,
    name,
    der(SEQUENCE, der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z'))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  )
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]))
  const base64 = der(SEQUENCE, body, algorithm, signature).toString('base64')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/(.{64})/g, '$1\n')}\n-----END CERTIFICATE-----\n`,
  }
}

function altName(name: string): Buffer {
  const isAddress = /^\d+\.\d+\.\d+\.\d+$/.test(name)
  return isAddress ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name))
}

function extension(id: Buffer, value: Buffer): Buffer {
  return der(SEQUENCE, der(0x06, id), der(0x04, value))
}

/** One value of ASN.1 in its DER form: tag, length, content. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...head]), content])
}
