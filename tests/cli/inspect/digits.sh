. "$SOURCE/tests/cli/lib.sh"
hone inspect "$digits"
