/** The licence texts of the packages that are bundled: they ask to travel with their code. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @param root the project's directory
 * @param metafiles esbuild's metafiles of all bundles
 * @param more names of packages of which other files are shipped
 * @returns one text: name, version, licence and the licence file of each bundled package, sorted by name
 */
export function licencesOf(root, metafiles, more = []) {
  const folders = new Set(more.map((name) => `node_modules/${name}`))
  for (const { outputs } of metafiles) {
    for (const output of Object.values(outputs)) {
      for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
        const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)
        if (match && bytesInOutput > 0) folders.add(match[1])
      }
    }
  }
  const sections = [...folders].map((folder) => section(join(root, folder))).sort()
  return `This package contains code of the packages below.\n\n${sections.join('\n')}`
}

function section(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)(\.(md|txt))?$/i.test(entry))
  const text = file
    ? readFileSync(join(folder, file), 'utf8').trim()
    : `(No licence file; package.json says ${license}.)`
  return `${name} ${version} (${license})\n${'-'.repeat(72)}\n${text}\n`
}
