export interface Server {
  /** With its password. */
  uri: string
  stop(): Promise<void>
  kill(): Promise<void>
  start(): Promise<void>
}
/** A sentence in the place of a server that is not installed. */
export function startServers(): Promise<{ redis: Server | string; postgres: Server | string }>
