# What is said when there is no verb, or none of that name.
. "$SOURCE/tests/cli/lib.sh"
hone
hone --help
hone --version | sed 's/[0-9]*\.[0-9]*\.[0-9]*/VERSION/; s/machine:.*/machine: NAMES/; s/with:.*zlib.*/with: LIBRARIES/'
hone -V | head -n 2 | sed 's/[0-9]*\.[0-9]*\.[0-9]*/VERSION/'
hone help | head -n 3
hone help check
hone help frobnicate
hone inspct
hone frobnicate
hone eval --help
