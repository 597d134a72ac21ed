. "$SOURCE/tests/cli/lib.sh"
hone inspect "$digits" --top 2 | tail -n 4
hone inspect "$digits" --top all | tail -n 2
