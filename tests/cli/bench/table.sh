# A line per configuration, whatever the numbers.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" bench "$digits" -b 1,64 -t 1 --warmup 0 --iterations 2 --isa portable --precision f32,f32-relaxed >table
sed 's/   */  /g; s/  [0-9][0-9.]*/  N/g; s/^ *[0-9][0-9]*/N/; s/ [kMG]*B/ B/g; s/---*/--/' table
"$HONE" bench "$digits" -t 1 --seconds 0.01 2>&1 >/dev/null
