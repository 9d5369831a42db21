#!/usr/bin/env bash
# Unique visitors of a web site by day, from its access log, without cookies: a visitor is an address and a browser. The
# state that counts them is private itself, every person counts on one day of the week, and one figure a day is released.
#
#   bash run.sh [DIR]      DIR is where the state and the releases go; a new temporary one if it is left out
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${1:-$(mktemp -d "${TMPDIR:-/tmp}/visitors.XXXXXX")}
mkdir -p "$work/releases"
cd "$work"

say() { printf '\n== %s\n' "$*"; }

say "A state for anybody who may come: one person in seven counts on a day, so that E = 1 covers a week"
panbayes stream open visitors.state --universe hashed --expect 40000 --epsilon 1 --panel 7d

day=0
: > truth.txt
for visitors in 41000 43500 42800 44100 40200 25400 23900; do
  release="releases/day-$(printf %02d $((day + 1))).json"
  say "Day $((day + 1)): the log is read as it comes, and at the end of the day its figure is released"
  python3 "$here/make_log.py" "$day" "$visitors" 2>> truth.txt |
    panbayes stream feed visitors.state --format combined --column address+agent
  # Midnight ends a day, releases its figure and forgets it. The last day is not over: its figure is that of now.
  if [ "$day" -lt 6 ]; then
    panbayes stream turn visitors.state --json > "$release"
  else
    panbayes stream estimate visitors.state --json > "$release"
  fi
  python3 - "$release" "$(tail -n 1 truth.txt)" << 'PYTHON'
import json, sys
found = json.load(open(sys.argv[1]))
found = found.get("estimate", found)
print(f"released: {found['users']:,} visitors, {found['low']:,} to {found['high']:,}; in the log: {int(sys.argv[2]):,}")
PYTHON
  day=$((day + 1))
done

say "What one person lost"
panbayes stream portfolio visitors.state

if python3 -c 'import matplotlib' 2> /dev/null; then
  python3 "$here/picture.py" "$work"
  say "The picture is $work/visitors.png, the releases are in $work/releases"
else
  say "The releases are in $work/releases; no picture, for want of matplotlib: pip install 'panbayes[figures]'"
fi
