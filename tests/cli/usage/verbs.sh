# What is said when there is no verb, or none of that name.
. "$SOURCE/tests/cli/lib.sh"
hone
hone --help
hone --version | sed 's/[0-9]*\.[0-9]*\.[0-9]*/VERSION/'
hone inspct
hone frobnicate
hone eval --help
