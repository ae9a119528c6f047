/** The part of `pg` that is used; the package has no types of its own. */
declare module 'pg' {
  interface PoolOptions {
    connectionString: string
    /** Milliseconds. */
    connectionTimeoutMillis: number
    query_timeout: number
    max: number
    allowExitOnIdle: boolean
  }
  class Pool {
    constructor(options: PoolOptions)
    on(event: 'error', listener: (error: Error) => void): this
    query(text: string, values?: unknown[]): Promise<{ rows: Array<Record<string, unknown>> }>
    end(): Promise<void>
  }
  const pg: { Pool: typeof Pool }
  export default pg
}
