import type { FixedOptions, ServiceContext } from '../../http/context.js'
import { type InvoiceText, invoiceText } from './invoice.js'
import type { InvoiceRow } from './invoice-row.js'
import { PAGE, PdfDocument, type TextStyle, wrapped } from './pdf/document.js'
import { MISSING, typefaceFor } from './pdf/typeface.js'

const LEFT = PAGE.margin
const RIGHT = PAGE.width - PAGE.margin
const WIDTH = RIGHT - LEFT
const plain: TextStyle = { size: 10.5 }
const bold: TextStyle = { size: 10.5, weight: 'bold' }
const muted: TextStyle = { size: 9, grey: 0.35 }
const LINE = 15
const PART = 30
const AMOUNTS = 130

/** Prints an invoice as PDF. Its page shows the same in every script. */
export async function invoicePdf(
  invoice: InvoiceRow,
  { baseUrl, fonts, log, parts }: Pick<ServiceContext, 'baseUrl' | 'log'> & Pick<FixedOptions, 'fonts' | 'parts'>,
): Promise<Uint8Array<ArrayBuffer>> {
  const paper = invoiceText(invoice, new URL(baseUrl).host)
  const { from, to, facts, lines } = paper
  const texts = [...from, ...to, ...facts.flat(), ...lines.map(({ description }) => description)]
  const pdf = new PdfDocument(paper.title, await typefaceFor(texts, { fonts, log, parts }))
  pdf.down(12)
  pdf.text(paper.title, { x: LEFT, size: 20, weight: 'bold' })
  pdf.down(20)
  pdf.text(paper.status, { x: LEFT, ...bold })
  writeParty(pdf, 'From', paper.from)
  writeParty(pdf, 'Billed to', paper.to)
  writeFacts(pdf, paper)
  writeLines(pdf, paper)
  if (pdf.typeface.lacks) writeNote(pdf, `${baseUrl}/v4/billing/invoices/${invoice.id}.html`)
  return pdf.toBytes()
}

function writeParty(pdf: PdfDocument, heading: string, lines: readonly string[]): void {
  pdf.down(PART)
  pdf.text(heading, { x: LEFT, ...muted })
  for (const line of lines.flatMap((line) => wrapped(line, WIDTH, { ...plain, typeface: pdf.typeface }))) {
    pdf.down(LINE)
    pdf.text(line, { x: LEFT, ...plain })
  }
}

function writeFacts(pdf: PdfDocument, { facts }: InvoiceText): void {
  pdf.down(PART - LINE)
  for (const [name, value] of facts)
    wrapped(value, WIDTH - 80, { ...plain, typeface: pdf.typeface }).forEach((line, n) => {
      pdf.down(LINE)
      if (n === 0) pdf.text(name, { x: LEFT, ...muted })
      pdf.text(line, { x: LEFT + 80, ...plain })
    })
}

function writeLines(pdf: PdfDocument, { lines, total }: InvoiceText): void {
  pdf.down(PART)
  pdf.text('What for', { x: LEFT, ...muted })
  pdf.text('Amount', { x: RIGHT, right: true, ...muted })
  for (const { description, period, amount } of lines) {
    pdf.down(8)
    pdf.rule()
    wrapped(description, WIDTH - AMOUNTS, { ...plain, typeface: pdf.typeface }).forEach((line, n) => {
      pdf.down(n === 0 ? 17 : LINE)
      pdf.text(line, { x: LEFT, ...plain })
      if (n === 0) pdf.text(amount, { x: RIGHT, right: true, ...plain })
    })
    pdf.down(13)
    pdf.text(period, { x: LEFT, ...muted })
  }
  pdf.down(8)
  pdf.rule()
  pdf.down(22)
  pdf.text('Total', { x: LEFT, size: 13, weight: 'bold' })
  pdf.text(total, { x: RIGHT, right: true, size: 13, weight: 'bold' })
}

function writeNote(pdf: PdfDocument, page: string): void {
  const note = `The fonts of this document lack some letters of the invoice. They are replaced by other letters or ${MISSING}. This page shows the original: ${page}`
  pdf.down(PART - LINE)
  for (const line of wrapped(note, WIDTH, { ...muted, typeface: pdf.typeface })) {
    pdf.down(LINE)
    pdf.text(line, { x: LEFT, ...muted })
  }
}
