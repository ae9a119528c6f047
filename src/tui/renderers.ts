/** The heavy parts: Markdown, code in colours, differences. Loaded when the prompt stands. */
import type { Renderers } from './transcript.ts'

export interface LoadedRenderers {
  /** undefined until they are loaded. */
  now(): Renderers | undefined
  load(): Promise<Renderers>
}

export function createRenderers(): LoadedRenderers {
  let loaded: Renderers | undefined
  let loading: Promise<Renderers> | null = null
  return {
    now: () => loaded,
    load() {
      loading ??= Promise.all([import('./markdown.ts'), import('./diff.ts')]).then(([markdown, { renderDiff }]) => {
        loaded = { markdown, renderDiff }
        return loaded
      })
      return loading
    },
  }
}
