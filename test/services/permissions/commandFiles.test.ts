/** Rules about files, and shell commands that name those files. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { userHome } from '../../../src/services/paths.ts'
import { temporaryDirectory } from '../../support/agent.ts'
import { judgeWith, type Rules } from './support.ts'

/** A project with the files the rules name. */
async function decisions(rules: Rules, commands: string[]): Promise<Record<string, string>> {
  const home = temporaryDirectory()
  const cwd = join(home, 'project')
  mkdirSync(join(cwd, 'secrets'), { recursive: true })
  mkdirSync(join(cwd, 'sub'))
  for (const name of ['.env', '.env.example', 'a.ts', 'secrets/key.pem']) writeFileSync(join(cwd, name), 'x\n')
  symlinkSync('../.env', join(cwd, 'sub/link'))
  const { bash } = await judgeWith(rules, { cwd, home, agentHome: join(home, '.agent') })
  const made = await Promise.all(commands.map(async (command) => [command, (await bash(command)).kind] as const))
  return Object.fromEntries(made)
}

const all = (commands: string[], kind: string): Record<string, string> =>
  Object.fromEntries(commands.map((command) => [command, kind]))

const READS = [
  ...[
    'cat .env',
    'cat ./.env',
    'cat -n a.ts .env',
    'cat -- .env',
    'head -n 5 .env',
    'tail -f .env',
    'cat sub/link',
    'cat sub/*',
  ],
  ...['cat "$PWD"/x .env', 'cat .e*', 'cat .en?', 'cat < .env', 'wc -l <.env', 'while read l; do echo $l; done < .env'],
  ...[
    'grep KEY .env',
    'grep -e KEY .env',
    'grep -f .env a.ts',
    'grep --file=.env a.ts',
    'sed -n 1p .env',
    "awk '{print}' .env",
  ],
  ...['cp .env b', 'cp .env a.ts secrets/', 'mv .env b', 'source .env', '. .env', '. ./.env && npm test', 'dd if=.env'],
  ...[
    'cat secrets/key.pem',
    'cat secrets/*',
    'cd secrets && cat key.pem',
    'cd secrets; cd ..; cat .env',
    'cat ../project/.env',
  ],
  ...[
    'sudo cat .env',
    'bash -c "cat .env"',
    'echo "$(cat .env)"',
    'find . -exec cat .env +',
    'cat .e\\\nnv',
    'ls | xargs cat .env',
  ],
  ...['grep "$KEY" .env', 'sed "s/$A/$B/" .env', 'grep $OPTIONS KEY .env', 'grep -A 3 KEY .env', 'rg -t ts KEY .env'],
  ...['cat $PWD/.env', 'cat "${PWD}/.env"', 'cat "$(git rev-parse --show-toplevel)/.env"', 'jq -r .a .env'],
  ...['for i in 1; do cat */.env; done', 'awk -F = 1 .env', 'jq -rf .env a.ts'],
]
const OTHER = [
  ...[
    'cat a.ts',
    'cat .env.example',
    'cat *',
    'wc -l *',
    'ls -la .env',
    'git add .env',
    'echo ".env" >> .gitignore',
    'grep .env a.ts',
  ],
  ...[
    'cp .env.example .env',
    'test -f .env',
    'grep KEY a.ts',
    'echo x > .env',
    'rm .env',
    'sed s/.env/x/ a.ts',
    'cat $FILE',
  ],
  ...['cp "$SOURCE" .env', 'jq -e .env a.ts', 'grep -rn -A 3 .env sub', "grep -rn --include='*.ts' .env sub"],
  ...['grep --color=auto .env a.ts', 'rg -t ts .env sub', 'grep -r --exclude=.env KEY .', 'npm test'],
  ...[
    'git commit -m "cat .env > .env"',
    "cat <<'EOF' > b\ncat .env\nEOF",
    'git commit -m "$(cat <<\'E\'\ncat .env\nE\n)"',
  ],
]

describe('A rule that forbids to read a file', () => {
  test('holds for commands that print, search, copy or source it, with --yes and allow rules too', async () => {
    const rules = { allow: ['Bash'], deny: ['Read(.env)', 'Read(secrets/**)'] }
    expect(await decisions(rules, READS)).toEqual(all(READS, 'deny'))
    expect(await decisions(rules, OTHER)).toEqual(all(OTHER, 'allow'))
  })

  test('says which file and which rule', async () => {
    const home = temporaryDirectory()
    const { bash } = await judgeWith({ deny: ['Read(.env)'] }, { cwd: home, home, agentHome: join(home, '.agent') })
    expect(await bash('cat a .env')).toMatchObject({
      reason: `The command would read ${join(home, '.env')}, which a rule denies: Read(.env) (in settings.json).`,
    })
  })

  test('knows the home by its variable as well', async () => {
    const commands = ['cat ~/.notes/a', 'cat $HOME/.notes/a', 'cat "${HOME}/.notes/a"', 'cd "$HOME/.notes" && cat a']
    const home = userHome()
    const { bash } = await judgeWith({ allow: ['Bash'], deny: ['Read(~/.notes/**)'] }, { home })
    const made = await Promise.all(commands.map(async (command) => [command, (await bash(command)).kind] as const))
    expect(Object.fromEntries(made)).toEqual(all(commands, 'deny'))
  })

  test('is held against a very long line, from many directories, without end of names', async () => {
    const names = Array.from({ length: 5_000 }, (_, i) => `f${i}`).join(' ')
    const moves = Array.from({ length: 30 }, (_, i) => `cd d${i}`).join(' && ')
    const deep = `cat ${'a/'.repeat(20_000)}b`
    const commands = [`${moves} && cat ${names}`, deep, `${moves} && cat ${names} .env`, `${deep} .env`]
    const rules = { allow: ['Bash'], deny: ['Read(.env)'] }
    expect(Object.values(await decisions(rules, commands))).toEqual(['allow', 'allow', 'deny', 'deny'])
  })

  test('for the tool as a whole is about the tool', async () => {
    expect(await decisions({ allow: ['Bash'], deny: ['Read'] }, ['cat .env'])).toEqual({ 'cat .env': 'allow' })
  })
})

describe('A rule that forbids to change a file', () => {
  const writes = [
    ...[
      'echo x > .env',
      'echo x >> .env',
      'echo x >.e\\nv; echo x 2> .env',
      'echo x &> .env',
      ': >| .env',
      'cat a.ts >& .env',
    ],
    ...[
      'tee .env',
      'echo x | tee -a .env',
      'sed -i s/a/b/ .env',
      'sed -i.bak -e s/a/b/ .env',
      'cp a.ts .env',
      'mv a.ts .env',
    ],
    ...[
      'mv .env b',
      'rm .env',
      'rm -f -- .env',
      'truncate -s 0 .env',
      'dd if=a.ts of=.env',
      'rm -rf secrets',
      'rm secrets/*',
    ],
  ]
  const reads = [
    'cat .env',
    'cp .env b',
    'sed s/a/b/ .env',
    'echo x > a.ts',
    'rm a.ts',
    'echo x 2>&1 >&2',
    'grep x < .env',
  ]

  test('holds for redirections to it and commands that write, move or remove it', async () => {
    const rules = { allow: ['Bash'], deny: ['Edit(.env)', 'Edit(secrets/**)'] }
    expect(await decisions(rules, writes)).toEqual(all(writes, 'deny'))
    expect(await decisions(rules, reads)).toEqual(all(reads, 'allow'))
  })
})

describe('A rule that asks about a file', () => {
  test('asks for commands too, which a rule that forbids still forbids', async () => {
    const rules = { allow: ['Bash'], ask: ['Read(.env)'], deny: ['Bash(head:*)'] }
    expect(await decisions(rules, ['cat .env', 'head .env', 'cat a.ts'])).toEqual({
      'cat .env': 'ask',
      'head .env': 'deny',
      'cat a.ts': 'allow',
    })
  })
})
