import { join } from 'node:path'
import { createStore } from '../../src/services/store/index.ts'
import { describeStore } from './storeContract.ts'
import { temporaryHomes } from './storeSupport.ts'

const homes = temporaryHomes()

describeStore('SQLite', async () => {
  const home = join(await homes.make(), 'home')
  const warnings: string[] = []
  const warn = (message: string) => void warnings.push(message)
  return { open: (now = Date.now) => createStore({ home, warn, now }), clean: homes.clean, warnings }
})
