// Public IDs in Node.js. It reads vectors of the package's tests from standard input,
// and prints the text of each ID and the ID of each text.
import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

const digits = '123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ'

const tag = (prefix) => createHash('sha256').update('publicid:' + prefix).digest().subarray(0, 8)

function aes(create, secret, block) {
  const cipher = create('aes-256-ecb', secret, null).setAutoPadding(false)
  return Buffer.concat([cipher.update(block), cipher.final()])
}

export function format(secret, prefix, id) {
  const block = Buffer.alloc(16)
  block.writeBigUInt64BE(id)
  tag(prefix).copy(block, 8)
  let number = BigInt('0x' + aes(createCipheriv, secret, block).toString('hex'))
  let text = ''
  for (let i = 0; i < 22; i++, number /= 58n) text = digits[number % 58n] + text
  return prefix + '_' + text
}

export function parse(secret, prefix, text) {
  const [, number] = text.match(new RegExp(`^${prefix}_([${digits}]{22})$`)) ?? []
  let sum = 0n
  for (const digit of number ?? '') sum = sum * 58n + BigInt(digits.indexOf(digit))
  if (number === undefined || sum >> 128n) throw new Error('invalid public ID')
  const block = aes(createDecipheriv, secret, Buffer.from(sum.toString(16).padStart(32, '0'), 'hex'))
  const id = block.readBigInt64BE()
  if (!block.subarray(8).equals(tag(prefix)) || id <= 0n) throw new Error('invalid public ID')
  return id
}

for (const v of JSON.parse(readFileSync(0))) {
  const secret = Buffer.from(v.secret, 'base64')
  console.log(format(secret, v.prefix, BigInt(v.id)), String(parse(secret, v.prefix, v.text)))
}
