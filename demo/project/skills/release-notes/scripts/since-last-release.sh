#!/usr/bin/env bash
# Prints the last tag, and each commit since then with the files it touched. Changes nothing.
set -euo pipefail
last=$(git describe --tags --abbrev=0 2>/dev/null || true)
echo "last release: ${last:-none}"
echo "commits since:"
git log --no-merges --date=short --format='%n%h %ad %s%n%b' --stat=100 ${last:+"$last..HEAD"}
