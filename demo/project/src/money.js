/** '19.99' becomes 1999. */
export function toCents(price) {
  return Math.floor(Number(price) * 100)
}

/** 1999 becomes '19.99'. */
export function format(cents) {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
}
