# A line per fact, two tables and what they mean; the cache and what may be wrong with it.
# label: full
. "$SOURCE/tests/cli/lib.sh"
export HONE_ISA=portable
"$HONE" machine -q --cache kept.txt >machine.txt
sed -n 's/^\([a-z]*\)  .*/\1/p' machine.txt | grep '^cpu$\|^isa$\|^cores$\|^threads$\|^memory$\|^peak$\|^bandwidth$\|^balance$' | uniq
grep -c 'f32.*GFLOP/s\|int8.*GOP/s' machine.txt
grep -c 'from the cache' machine.txt
# What was disturbed is measured again; here the machine shall have been steady.
sed -i 's/ disturbed [0-9]*$/ steady/' kept.txt
"$HONE" machine --cache kept.txt | grep -o 'from the cache.*'
grep -c '^hone-machine/1 ' kept.txt

echo "damaged:"
sed 's/^peak f32/peak f31/' kept.txt >bad.txt
"$HONE" machine --cache bad.txt 2>&1 | grep 'damaged'
sed -i 's/ disturbed [0-9]*$/ steady/' bad.txt
"$HONE" machine --cache bad.txt | grep -c 'from the cache'

echo "of another kind:"
echo "something dear" >other.txt
"$HONE" machine --cache other.txt 2>&1 | grep 'not a cache'
cat other.txt

echo "none:"
mkdir none
XDG_CACHE_HOME=$PWD/none "$HONE" machine -q --no-cache | grep -c 'from the cache'
ls none
hone machine --cache
