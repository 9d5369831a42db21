#!/usr/bin/env bash
# Three hospitals and an analyst whom they do not trust, on one machine: every party has a folder, keys and processes of
# its own, and only signed letters cross. First over HTTPS, then the same over a folder, as with a USB stick.
#
#   bash run.sh [DIR]      DIR is where the parties' folders go; a new temporary one if it is left out
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${1:-$(mktemp -d "${TMPDIR:-/tmp}/consortium.XXXXXX")}
mkdir -p "$work"
work=$(cd "$work" && pwd)
holders=(north south west)
running=()

finish() {
  for process in "${running[@]}"; do kill "$process" 2> /dev/null || true; done
  wait 2> /dev/null || true
}
trap finish EXIT

say() { printf '\n== %s\n' "$*"; }
at() { ( cd "$work/$1" && shift && "$@" ); }

# A port that is free now.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

say "The analyst makes a key, and a certificate for its mailbox"
mkdir -p "$work/analyst"
cp "$here/clinic.toml" "$here/study.toml" "$work/analyst/"
at analyst panbayes keygen analyst
at analyst panbayes analyst certificate localhost 127.0.0.1 -o mailbox

records=6000
for holder in "${holders[@]}"; do
  say "$holder: keys of the hospital and of its officer, the file holder.toml"
  mkdir -p "$work/$holder"
  bash "$here/make_table.sh" "${#holder}$records" "$records" > "$work/$holder/patients.csv"
  cp "$work/analyst/analyst.pub" "$work/analyst/mailbox.pem" "$work/$holder/"
  at "$holder" panbayes keygen officer
  at "$holder" panbayes holder init --name "$holder" --source patients.csv --cap 3 \
    --officer officer=officer.pub --analyst analyst=analyst.pub --mailbox "https://localhost:$port" --ca mailbox.pem
  # Answers leave when they are ready, so that the example is quick. A hospital leaves this out: see [time] in the file.
  printf '\n[time]\ngrid = 0\n' >> "$work/$holder/holder.toml"
  records=$((records - 1500))
done

say "The analyst enrols the hospitals: who compares the words by phone knows whose key it is"
for holder in "${holders[@]}"; do
  cp "$work/$holder/$holder.pub" "$work/analyst/"
  at analyst panbayes analyst enroll "$holder" "$holder.pub"
done

say "Over HTTPS: the mailbox is the analyst's, the hospitals' agents connect outwards"
mkdir -p "$work/analyst/post"
( cd "$work/analyst" && exec panbayes analyst serve --post post --port "$port" --certificate mailbox.pem \
  --certificate-key mailbox.key ) 2> "$work/analyst/serve.log" &
running+=($!)
for holder in "${holders[@]}"; do
  ( cd "$work/$holder" && exec panbayes holder serve ) 2> "$work/$holder/serve.log" &
  running+=($!)
done

say "The study is proposed; nobody has approved it, so nobody answers"
at analyst panbayes analyst learn study.toml --post post -o model.json --state state || [ $? = 6 ]
for holder in "${holders[@]}"; do
  until at "$holder" panbayes holder pending | grep -q readmissions; do sleep 0.2; done
done

for holder in "${holders[@]}"; do
  say "$holder: the officer reads what it means, and signs"
  at "$holder" panbayes holder approve readmissions --key officer.key --yes
done

say "Now the agents answer, round by round"
at analyst panbayes analyst learn study.toml --post post -o model.json --state state --wait
at analyst panbayes show model.json

say "Now over a folder that somebody carries about, no network: a second study, by a strategy that asks but once"
sed 's/readmissions/readmissions again/; s/adaptive/noisy-sufficient-statistics/; s/epsilon = 1.0/epsilon = 0.5/' \
  "$here/study.toml" > "$work/analyst/second.toml"
mkdir -p "$work/stick"
finish
running=()
approved=
for _ in $(seq 1 20); do
  if at analyst panbayes analyst learn second.toml --post "$work/stick" -o second.json --state state; then break; else [ $? = 6 ]; fi
  for holder in "${holders[@]}"; do
    at "$holder" panbayes holder answer "$work/stick"
    [ -n "$approved" ] || at "$holder" panbayes holder approve "readmissions again" --key officer.key --yes > /dev/null
  done
  approved=yes
done

say "Everything can be checked by others: the signatures in the model, and every ledger"
at analyst panbayes analyst verify model.json
at analyst panbayes analyst verify second.json
for holder in "${holders[@]}"; do
  at "$holder" panbayes holder ledger verify --config holder.toml
done
at north panbayes holder log

say "Done. The parties' folders are in $work"
