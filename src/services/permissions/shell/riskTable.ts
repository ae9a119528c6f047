/**
 * The kept list: arguments by which common programs write files, run other programs or change how they work. An allow
 * rule with a star does not cover them; one that spells the argument out does (contract.md, section 8). Where an entry
 * covers too much, the user is asked once more than needed.
 */

export interface Risk {
  /** Options by letter or long name. Letters count in a cluster too (`-uo`), long names also abbreviated. */
  options?: string
  /** Words that are a risk by their look, options among them. */
  words?: RegExp
  /** Before the sub-command only options of this look are covered. */
  before?: RegExp
}

const EVERYTHING = /^/

/** By program, or by program and sub-command; both count. */
export const RISKS: Record<string, Risk> = {
  ag: { options: '--pager' },
  at: { words: EVERYTHING },
  awk: {
    options: '-f -i -l -e -E -o -d -p -D --file --include --load --source --exec --pretty-print --dump-variables',
    words: /system|>|\||getline|@/,
  },
  base64: { options: '-o --output' },
  bun: { options: '-e -p -r --eval --print --preload' },
  cargo: { options: '--config', words: /^\+/ },
  crontab: { words: EVERYTHING },
  ctags: { words: EVERYTHING },
  curl: {
    options:
      '-o -O -T -K -D -c -J --output --remote-name --remote-name-all --output-dir --upload-file --config --libcurl ' +
      '--dump-header --cookie-jar --trace --trace-ascii --stderr --create-dirs --hsts --alt-svc --etag-save',
  },
  date: { options: '-s --set' },
  dd: { words: /^of=/ },
  deno: { words: /^(?:eval|repl)$/ },
  diff: { options: '--output' },
  dmesg: { options: '-c -C -D -E -n --clear --read-clear' },
  ed: { words: EVERYTHING },
  emacs: { words: EVERYTHING },
  fd: { options: '-x -X --exec --exec-batch' },
  file: { options: '-C -m --compile --magic-file' },
  find: { words: /^-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls)$/ },
  gcc: { options: '-o -B', words: /^-(?:fplugin|wrapper|specs|dump|aux|save-temps)|^@/ },
  git: {
    options:
      '--output --output-directory --ext-diff --textconv --upload-pack --receive-pack --exec --open-files-in-pager ' +
      '--extcmd --exec-path --config-env --config --git-dir --work-tree --template --separate-git-dir --filters ' +
      '--to-cmd --cc-cmd --smtp-server --show-signature --gpg-sign',
    words: /^\w+::/,
    before: /^(?:--no-pager|-P|--no-optional-locks|--no-replace-objects|--literal-pathspecs|--version|--help)$/,
  },
  'git archive': { options: '-o' },
  'git bisect': { words: /^run$/ },
  'git clone': { options: '-c -u' },
  'git config': { words: EVERYTHING },
  'git difftool': { words: EVERYTHING },
  'git filter-branch': { words: EVERYTHING },
  'git format-patch': { options: '-o' },
  'git grep': { options: '-O' },
  'git hook': { words: /^run$/ },
  'git mergetool': { words: EVERYTHING },
  'git rebase': { options: '-x -i --interactive' },
  'git submodule': { words: /^foreach$/ },
  go: { words: /^--?(?:toolexec|exec|o|vettool|overlay|modfile|\w*profile|trace|outputdir)(?:=|$)|^env$/ },
  hostname: { words: /^[^-]|^-F/ },
  iconv: { options: '-o --output' },
  jq: { options: '-L --library-path' },
  less: { options: '-o -O -k --log-file --LOG-FILE --lesskey-file --lesskey-src', words: /^\+/ },
  lua: { options: '-e -l -i' },
  make: { options: '-f -E --file --makefile --eval', words: /^SHELL=|^\.SHELLFLAGS=/ },
  man: { options: '-P -H -C --pager --html --config-file' },
  more: { words: /^\+/ },
  nmap: { options: '--script', words: /^-o[NXSGA]/ },
  node: {
    options: '-e -p -r -i --eval --print --require --import --loader --experimental-loader --env-file --run',
  },
  npm: { options: '-C --prefix --script-shell --userconfig --globalconfig --node-options' },
  openssl: { words: /^-(?:\w*out|engine|provider|writerand|config)$/ },
  osascript: { options: '-e' },
  pandoc: { options: '-o -F -L --output --filter --lua-filter --extract-media --pdf-engine --log' },
  perl: { options: '-e -E -i -M -m -x -d -s' },
  php: { options: '-r -B -R -E -F -d -a -S' },
  printf: { options: '-v' },
  python: { options: '-c -m -i' },
  rg: { options: '--pre --hostname-bin' },
  rsync: { options: '-e --rsh --rsync-path --log-file --backup-dir --partial-dir --write-batch --only-write-batch' },
  ruby: { options: '-e -i -r -x -n -p' },
  scp: { options: '-S -o -F -D' },
  screen: { words: EVERYTHING },
  sftp: { options: '-S -o -F -b' },
  shuf: { options: '-o --output' },
  sort: { options: '-o -T --output --compress-program --temporary-directory' },
  split: { options: '--filter' },
  sysctl: { options: '-w -p', words: /=/ },
  tar: {
    options:
      '-I -F --to-command --use-compress-program --checkpoint-action --info-script --new-volume-script --rsh-command ' +
      '--rmt-command',
    words: /^[A-Za-z]*[IF][A-Za-z]*$/,
  },
  tcpdump: { options: '-w -z -W' },
  test: { options: '-v -R' },
  tmux: { words: EVERYTHING },
  tree: { options: '-o' },
  // A second operand is the file it writes; which one is the second takes knowing every option.
  uniq: { words: /^[^-]/ },
  vim: { words: EVERYTHING },
  wget: { words: EVERYTHING },
  xmllint: { options: '--output' },
  xxd: { options: '-r', words: /^[^-]/ },
  yq: { options: '-i -s --inplace --split-exp' },
  zip: { options: '-T --unzip-command' },
}

/** Other names of the programs above. */
export const SAME: Record<string, string> = {
  gawk: 'awk',
  mawk: 'awk',
  nawk: 'awk',
  original_awk: 'awk',
  busybox: 'sh',
  bsdtar: 'tar',
  gtar: 'tar',
  gsed: 'sed',
  gsort: 'sort',
  gfind: 'find',
  fdfind: 'fd',
  cc: 'gcc',
  'c++': 'gcc',
  'g++': 'gcc',
  clang: 'gcc',
  'clang++': 'gcc',
  vi: 'vim',
  nvim: 'vim',
  view: 'vim',
  ex: 'vim',
  nano: 'vim',
  batch: 'at',
  nodejs: 'node',
  tsx: 'node',
  'ts-node': 'node',
  pypy: 'python',
  gmake: 'make',
  pnpm: 'npm',
  '[': 'test',
}

/** Builtins that change how later commands of the line are understood or found. */
export const CHANGES_THE_SHELL: ReadonlySet<string> = new Set(
  (
    'export declare typeset local readonly read unset let mapfile readarray getopts set shopt enable hash bind ' +
    'complete compgen compopt alias unalias history fc wait'
  ).split(' '),
)
