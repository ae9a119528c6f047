/** File names from ids that a model made up. */

/** Names that Windows keeps for devices, whatever their extension. */
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)$/i
const LONGEST = 100

/**
 * @param id any text: a tool_use id, a session's id
 * @returns a file's base name of 1 to 101 ASCII letters, digits, `_`, `-`: never a path, a hidden file or a device. Two
 * ids may give one name, so a file must be made only where there is none
 */
export function safeName(id: string): string {
  const name = id.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, LONGEST)
  return name === '' || RESERVED.test(name) || name.startsWith('-') ? `_${name}` : name
}
