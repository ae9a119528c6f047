/** One scripted model, one home, one project: what nearly every test of the command line starts with. */
import { onTestFinished } from 'vitest'
import { type Ended, type RunOptions, runAgent, temporaryDirectory } from '../support/agent.ts'
import { type FakeModel, type FakeModelOptions, startFakeModel } from '../support/fakeModel.ts'

export interface SetUp {
  model: FakeModel
  home: string
  dir: string
  /** Runs in `dir` through `-C`. */
  run(args: string[], more?: Partial<RunOptions>): Promise<Ended>
  /** Runs with the arguments as they are. */
  bare(args: string[], more?: Partial<RunOptions>): Promise<Ended>
}

export async function setUp(replies: FakeModelOptions['replies']): Promise<SetUp> {
  const model = await startFakeModel({ replies })
  onTestFinished(() => model.close())
  const home = temporaryDirectory()
  const dir = temporaryDirectory()
  const bare: SetUp['bare'] = (args, more = {}) => runAgent(args, { url: model.url, home, ...more })
  return { model, home, dir, bare, run: (args, more) => bare(['-C', dir, ...args], more) }
}
