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
  /** Its long options cannot be abbreviated. */
  whole?: true
  /** Runs what it is given on standard input where no operand names a file. */
  readsCode?: true
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
  bun: { options: '-e -p -r --eval --print --preload', readsCode: true },
  cargo: { options: '-Z -C --config --manifest-path', words: /^\+/ },
  crontab: { words: EVERYTHING },
  ctags: { words: EVERYTHING },
  curl: {
    options:
      '-o -O -T -K -D -c -J --output --remote-name --remote-name-all --output-dir --upload-file --config --libcurl ' +
      '--dump-header --cookie-jar --trace --trace-ascii --stderr --create-dirs --hsts --alt-svc --etag-save --engine ' +
      '--unix-socket --abstract-unix-socket',
    words: /%output/,
  },
  date: { options: '-s --set' },
  dc: { words: EVERYTHING, readsCode: true },
  dd: { words: /^of=/ },
  deno: { words: /^(?:eval|repl)$/, readsCode: true },
  diff: { options: '--output' },
  dmesg: { options: '-c -C -D -E -n --clear --read-clear' },
  ed: { words: EVERYTHING, readsCode: true },
  emacs: { words: EVERYTHING },
  eslint: {
    options:
      '-o -c -f --fix --fix-dry-run --output-file --config --format --rulesdir --plugin --parser --cache-location ' +
      '--resolve-plugins-relative-to',
  },
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
  go: { words: /^--?(?:C|toolexec|exec|o|vettool|overlay|modfile|\w*profile|trace|outputdir)(?:=|$)|^env$/ },
  helm: { options: '--kubeconfig --post-renderer' },
  hostname: { words: /^[^-]|^-F/ },
  iconv: { options: '-o --output' },
  info: { options: '-o --output' },
  install: { options: '--strip-program' },
  jest: {
    options:
      '-c --config --outputFile --globalSetup --globalTeardown --setupFiles --setupFilesAfterEnv --testRunner --runner ' +
      '--reporters --transform --rootDir --resolver --testEnvironment',
  },
  jobs: { options: '-x' },
  journalctl: { options: '--rotate --flush --vacuum-size --vacuum-time --vacuum-files' },
  jq: { options: '-L --library-path' },
  kubectl: { options: '--kubeconfig --kuberc' },
  less: { options: '-o -O -k --log-file --LOG-FILE --lesskey-file --lesskey-src', words: /^\+/ },
  lua: { options: '-e -l -i', readsCode: true },
  make: { options: '-f -E --file --makefile --eval', words: /^SHELL=|^\.SHELLFLAGS=/ },
  man: { options: '-P -H -C --pager --html --config-file' },
  more: { words: /^\+/ },
  mysql: { options: '--tee --pager --init-command --plugin-dir', words: /\\|system|outfile/i, readsCode: true },
  nm: { options: '--plugin' },
  nmap: { options: '--script', words: /^-o[NXSGA]/ },
  node: {
    options:
      '-e -p -r -i --eval --print --require --import --loader --experimental-loader --env-file --run --test-reporter ' +
      '--test-global-setup --redirect-warnings --cpu-prof --heap-prof --build-snapshot --snapshot-blob ' +
      '--experimental-config-file --openssl-config --diagnostic-dir --report-dir',
    whole: true,
    readsCode: true,
  },
  npm: { options: '-C --dir --prefix --script-shell --userconfig --globalconfig --node-options' },
  openssl: { words: /^-(?:\w*out|engine|provider|writerand|config)$/ },
  osascript: { options: '-e' },
  pandoc: { options: '-o -F -L --output --filter --lua-filter --extract-media --pdf-engine --log' },
  perl: { options: '-e -E -i -M -m -x -d -s', readsCode: true },
  php: { options: '-r -B -R -E -F -d -a -S', readsCode: true },
  prettier: { options: '-w --write --plugin --config --cache-location' },
  printf: { options: '-v' },
  psql: { options: '-f -o -L -v --file --output --log-file', words: /\\|copy|program/i, readsCode: true },
  pytest: {
    options:
      '-c -p -o --junitxml --junit-xml --log-file --basetemp --rootdir --confcutdir --override-ini --pastebin --cov-report',
  },
  python: { options: '-c -m -i -W', readsCode: true },
  rg: { options: '--pre --hostname-bin' },
  rsync: { options: '-e --rsh --rsync-path --log-file --backup-dir --partial-dir --write-batch --only-write-batch' },
  ruby: { options: '-e -i -r -x -n -p', readsCode: true },
  scp: { options: '-S -o -F -D' },
  screen: { words: EVERYTHING },
  sftp: { options: '-S -o -F -b' },
  shuf: { options: '-o --output' },
  sort: { options: '-o -T --output --compress-program --temporary-directory' },
  split: { options: '--filter' },
  sqlite3: {
    options: '-cmd -init -A --cmd --init',
    words: /^\s*\.|\n\s*\.|writefile|load_extension|edit\s*\(|attach|vacuum/i,
    readsCode: true,
  },
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
  tree: { options: '-o -R' },
  // A second operand is the file it writes; which one is the second takes knowing every option.
  uniq: { words: /^[^-]/ },
  vim: { words: EVERYTHING, readsCode: true },
  wget: { words: EVERYTHING },
  xmllint: { options: '--output' },
  xxd: { options: '-r', words: /^[^-]/ },
  yarn: { options: '--cwd --use-yarnrc --modules-folder --script-shell' },
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
  vitest: 'jest',
  objdump: 'nm',
  ar: 'nm',
  mariadb: 'mysql',
  'py.test': 'pytest',
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
