import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseInvoice } from '../src/parse.js'
import { total } from '../src/total.js'

test('adds up quantities', () => {
  assert.equal(total(parseInvoice('Invoice 1\n2;Pencil;0.50\n1;Ruler;2.25\n')), '3.25')
})

test('keeps every cent of a price', () => {
  assert.equal(total(parseInvoice('Invoice 2\n3;Notebook;19.99\n')), '59.97')
})

test('reads the last line where no line end follows it', () => {
  assert.equal(total(parseInvoice('Invoice 3\n1;Pen;1.20\n1;Ink;4.80')), '6.00')
})
