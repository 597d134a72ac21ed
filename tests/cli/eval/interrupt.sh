# Ctrl-C ends an evaluation.
. "$SOURCE/tests/cli/lib.sh"
interrupted eval "$digits" --data synthetic:digits,n=1000000
