# A file of -o is the object of --json, and is read back as the table; it may come from anywhere.
# label: full
. "$SOURCE/tests/cli/lib.sh"
export HONE_ISA=portable XDG_CACHE_HOME=$PWD
"$HONE" machine -q -o target.json >there.txt
"$HONE" report -q -o /dev/null target.json || exit 77
# What is said of the measuring is not said of a file.
grep -v 'from the cache' there.txt >expected.txt
"$HONE" machine target.json >read.txt
cmp expected.txt read.txt && echo "the same table"
# Balances are computed anew, of numbers that were rounded to nine digits.
strip() { sed 's/"command": "[^"]*"//; s/"balances": [^]]*]//' "$@"; }
"$HONE" machine -q --json target.json | strip >a.json
strip target.json | cmp - a.json && echo "the same object"
"$HONE" machine -q - <target.json | cmp - expected.txt && echo "the same from standard input"

sed 's/"arch": "[^"]*"/"arch": "riscv64"/; s/"cpu": "[^"]*"/"cpu": "Another"/' target.json >other.json
"$HONE" machine other.json | grep -o '^cpu  .*riscv64'

# A file that cannot be written whole leaves what was there.
cp target.json kept.json
(ulimit -f 1; trap '' XFSZ; "$HONE" machine -q -o kept.json 2>&1 >/dev/null; echo "exit $?")
cmp kept.json target.json && echo "as it was"
: >kept.json
ln -s kept.json link.json
"$HONE" machine -q -o link.json >/dev/null
[ -L link.json ] && "$HONE" machine -q kept.json >/dev/null && echo "a link stays one"
rm kept.json link.json

echo "wrong:"
head -c 300 target.json >bad.json
hone machine bad.json | sed 's/: not JSON: .*/: not JSON/'
sed 's/"gops": [0-9.]*/"gops": -5/' target.json >bad.json
hone machine bad.json
sed 's/"read_gb_s": [0-9.]*/"read_gb_s": "much"/' target.json >bad.json
hone machine bad.json
sed 's/hone.machine.1/hone.machine\/2/' target.json >bad.json
hone machine bad.json
"$HONE" kernels --json >bad.json
hone machine bad.json
hone machine nowhere.json
hone machine target.json --remeasure
hone machine target.json -o again.json
hone machine -o nowhere/target.json
ls
