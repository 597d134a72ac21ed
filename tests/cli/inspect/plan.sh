# The memory of a plan, whose numbers depend on the machine.
. "$SOURCE/tests/cli/lib.sh"
hone inspect "$digits" --plan --dim batch=1 --top 0 | grep -e '^\$' -e '^plan' | sed '/^plan/s/[0-9][0-9.]* [kM]*B/N/g'
"$HONE" inspect "$digits" --plan --dim batch=1 --json >digits.json
documented inspect digits.json
