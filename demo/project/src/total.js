import { format } from './money.js'

/** What the items cost together, such as '59.97'. */
export function total(items) {
  const cents = items.reduce((sum, item) => sum + item.quantity * item.cents, 0)
  return format(cents)
}
