# Slower, faster, as fast; baselines that say nothing of this.
. "$SOURCE/tests/cli/lib.sh"
bench() { hone bench "$digits" -t 1 -b 1 -n 10 -q "$@" | sed -n '/^[$h"e]/p; /^ *ms  /,/^ *[0-9]/s/.*  \([a-z0-9]* *[a-z]*\)$/\1/p'; }
"$HONE" bench "$digits" -t 1 -b 1 -n 1 -q --json >now.json
cpu=$(sed 's/.*"cpu": "\([^"]*\)".*/\1/' now.json)
isa=$(sed 's/.*"isa": "\([^"]*\)".*/\1/' now.json)
version=$(sed 's/.*"version": "\([^"]*\)".*/\1/' now.json)
# result MS: what a run of this configuration would have saved, had they all taken so long.
result() {
    echo "{\"schema\": \"hone.bench/1\", \"version\": \"$version\", \"cpu\": \"$cpu\", \"model\": \"elsewhere/digits_cnn.onnx\"," \
        "\"batch\": 1, \"threads\": 1, \"streams\": 1, \"precision\": \"f32\", \"isa\": \"$isa\", \"pace\": 1, \"disturbed\": false," \
        "\"latency_ms\": {\"min\": $1, \"p50\": $1}, \"windows_ms\": [$1, $1, $1, $1, $1]}"
}
result 1e-9 >quick.json
bench --baseline quick.json
result 100000 >slow.json
bench --baseline slow.json
# The fastest of several results of a configuration counts, in four rounds whatever else goes on; noise that explains the difference does not.
{ result 1e-9; echo; result 100000; } >both.json
hone bench "$digits" -t 1 -b 1 -n 10 -q --baseline both.json --json | grep -o '"verdict": "[a-z]*"\|"rounds": [0-9]*\|^hone.*\|^exit.*'
result 100000 | sed 's/"pace": 1, "disturbed": false/"pace": 0.00001, "disturbed": true/' >noisy.json
hone bench "$digits" -t 1 -b 1 -n 10 --baseline noisy.json | grep '^hone.*noisy,\|unknown$' | sed 's/.*  //'
# Of other things.
sed 's/"batch": 1/"batch": 2/' slow.json >other.json
hone bench "$digits" -t 1 -b 1 -n 1 --csv --baseline other.json | grep '^hone\|^exit' | sed "s/$isa/ISA/"
sed 's/"cpu": "[^"]*"/"cpu": "abacus"/' slow.json >machine.json
bench --baseline machine.json | sed 's/this is .*: /this is ...: /'
sed 's/"version": "[^"]*"/"version": "0.0.1"/' slow.json >version.json
hone bench "$digits" -t 1 -b 1 -n 1 --csv --baseline version.json | grep '^hone' | sed 's/this is .*/this is .../'
# Broken ones.
sed 's/bench.1/profile\/1/' slow.json >schema.json
bench --baseline schema.json
sed 's/"min":/"least":/' slow.json >short.json
bench --baseline short.json
cut -c 1-100 slow.json >cut.json
bench --baseline cut.json | sed 's/not JSON: .*/not JSON: .../'
: >empty.json
bench --baseline empty.json
bench --baseline none.json
