import { toCents } from './money.js'

/** Reads an invoice: a heading, then one item a line, `quantity;description;price`. */
export function parseInvoice(text) {
  const lines = text.split('\n')
  const items = []
  for (let at = 1; at < lines.length - 1; at++) {
    const [quantity, description, price] = lines[at].split(';')
    items.push({ quantity: Number(quantity), description, cents: toCents(price) })
  }
  return items
}
