# label: full
# A plan for a machine that hone machine -o described: the tree goes by its architecture.
. "$SOURCE/tests/cli/lib.sh"
export HONE_ISA=portable XDG_CACHE_HOME=$PWD
"$HONE" machine -q -o target.json >/dev/null
"$HONE" report -q -o /dev/null target.json || exit 77
for arch in x86_64 aarch64; do
    sed 's/"arch": "[^"]*"/"arch": "'$arch'"/; s/"cpu": "[^"]*"/"cpu": "Another"/' target.json >$arch.json
    "$HONE" advise "$digits" --no-run --target $arch.json | grep '^target\|^the tree'
done
head -c 300 target.json >bad.json
hone advise "$digits" --no-run --target bad.json | sed 's/: not JSON: .*/: not JSON/'
hone advise "$digits" --no-run --target nowhere.json
