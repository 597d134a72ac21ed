# Inputs are made up as hone run does.
. "$SOURCE/tests/cli/lib.sh"
steps() { "$HONE" profile "$digits" --runs 1 --no-roofline "$@" --json 2>&1 | sed 's/.*"output": "\([^"]*\)".*/\1/'; }
steps
steps --dim batch=5 --fill zeros
hone profile "$digits" -q --no-roofline --dim bach=5
hone profile "$digits" -q --no-roofline --dim batch
hone profile "$digits" -q --no-roofline --fill noise
