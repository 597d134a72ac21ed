# What tuning measures is said and kept in a file one can read; the next time it is known.
. "$SOURCE/tests/cli/lib.sh"
tune() { "$HONE" bench "$digits" -b 1 -t 2 --warmup 0 -n 1 --json "$@" 2>&1 >/dev/null | sed 's/[0-9][0-9.]*/N/g'; }
tune --tune fast --tune-cache cache.txt
head -n 1 cache.txt | sed 's/=.*/=.../'
tune --tune fast --tune-cache cache.txt | sed 's/, N measured in N ms//'
echo 'hone-tuning/1 hone=9.9.9' >cache.txt
tune --tune-cache cache.txt
export XDG_CACHE_HOME=$PWD/caches
tune -q --tune full
ls caches/hone
HOME=$PWD/home
unset XDG_CACHE_HOME
mkdir home
tune -q --tune fast
ls home/.cache/hone
hone bench "$digits" --tune hard
hone run "$digits" -q --fill zeros --tune fast -t 1
