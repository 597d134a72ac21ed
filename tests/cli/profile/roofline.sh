# Every key of the JSON, with the machine's limits measured; every step is placed and bound.
. "$SOURCE/tests/cli/lib.sh"
export XDG_CACHE_HOME=$PWD
"$HONE" profile "$digits" -q --runs 2 --data synthetic:digits --requests-per-day 1e6 --machine-price 100 --json >profile.json
documented profile profile.json
grep -o '"bound": "[a-z]*"' profile.json | sort -u | sed 's/compute\|memory\|overhead/known/' | sort -u
grep -o '"question": "[^"]*"' profile.json | grep -v 'first\|do the steps add up'
