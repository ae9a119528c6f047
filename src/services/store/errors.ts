/** What goes wrong with the store, in sentences for the user. */
import { errorCode, messageOf } from '../../machines/errorText.ts'

/** The store cannot do what was asked; `message` is a whole sentence that says what to do next. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}

/** A failure's own words without the code in front of them and without the full stop. */
function words(error: unknown): string {
  // Of a name with several addresses each one's failure is in a list, and the message is empty.
  const first = error instanceof AggregateError && error.message === '' ? error.errors[0] : error
  return messageOf(first)
    .replace(/^(SQLITE_)?[A-Z_]+: /, '')
    .replace(/\.$/, '')
}

/**
 * Turns a failure of the driver or the file system into a sentence.
 * @param place the database file, or the URI without its password
 */
export function storeError(error: unknown, place: string): StoreError {
  if (error instanceof StoreError) return error
  return new StoreError(sentence(error, place), { cause: error })
}

function sentence(error: unknown, place: string): string {
  switch (errorCode(error)) {
    case 'SQLITE_BUSY':
    case 'SQLITE_LOCKED':
      return `The session store ${place} is locked by another process. Try again when that one has finished.`
    case 'SQLITE_FULL':
    case 'ENOSPC':
    case 'EDQUOT':
      return `The session store ${place} cannot be written because the disk is full. Free some space and try again.`
    case 'SQLITE_READONLY':
    case 'EROFS':
      return `The session store ${place} is read-only. Make it writable, or set AGENT_HOME to another directory.`
    case 'SQLITE_CANTOPEN':
    case 'SQLITE_PERM':
    case 'EACCES':
    case 'EPERM':
      return `The session store ${place} cannot be opened (${words(error)}). Check its permissions, or set AGENT_HOME to another directory.`
    case 'ENOTDIR':
      return `The session store ${place} cannot be opened because a part of its path is no directory. Set AGENT_HOME to another directory.`
    case 'ENOENT':
      return `The session store ${place} cannot be made because a part of its path leads nowhere. Set AGENT_HOME to another directory.`
    case 'ECONNREFUSED':
    case 'ECONNRESET':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `The session store ${place} cannot be reached (${words(error)}). Check its address and that the server runs.`
    case 'SQLITE_IOERR':
    case 'EIO':
    case 'EFBIG':
      return `The session store ${place} cannot be read or written (${words(error)}). Check the disk and its free space.`
    case 'SQLITE_CORRUPT':
    case 'SQLITE_NOTADB':
      return `The session store ${place} is damaged (${words(error)}) and left as it is. Move it away to start with an empty one; "sqlite3 <file> .recover" may get its records back.`
    default:
      return `The session store ${place} does not work: ${words(error)}.`
  }
}
