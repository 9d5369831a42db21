#!/usr/bin/env bash
# make_table.sh SEED RECORDS: a made-up table of patients, as CSV.
exec awk -v seed="$1" -v records="$2" 'BEGIN {
  srand(seed)
  print "age,smokes,diagnosis,readmitted"
  split("diabetes heart lung asthma", names, " ")
  for (record = 0; record < records; record++) {
    age = int(18 + 75 * (rand() + rand()) / 2)
    smokes = rand() < 0.3
    which = smokes && rand() < 0.5 ? 3 : age > 60 && rand() < 0.5 ? 2 : rand() < 0.6 ? 1 : 4
    back = rand() < 0.05 + 0.15 * (age > 60) + 0.25 * (which == 3)
    printf "%d,%s,%s,%s\n", age, smokes ? "yes" : "no", names[which], back ? "yes" : "no"
  }
}'
