. "$SOURCE/tests/cli/lib.sh"
hone inspect "$digits" -n 2 | tail -n 4
hone inspect "$digits" -n all | tail -n 2
