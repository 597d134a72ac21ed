# The documented keys; what must hold on any machine.
. "$SOURCE/tests/cli/lib.sh"
export XDG_CACHE_HOME=$PWD
cat >machine.py <<'END'
import json, sys
m = json.load(open(sys.argv[1]))
assert m["noise"] >= 0 and m["noise"] <= 1 and m["threads"] >= 1
assert all(p["gops"] > 0 and p["threads"] in (1, m["threads"]) for p in m["peaks"])
assert {p["precision"] for p in m["peaks"]} == {b["precision"] for b in m["balances"]}
assert m["isa"] in ["portable"] + [i["name"] for i in m["isas"] if i["allowed"]]
END
env -u HONE_ISA "$HONE" machine -q --json >machine.json
# Lists that are empty on some machines have keys on others.
sed 's/"gpus": \[\]/"gpus": [{"name": "", "memory_bytes": 1, "capability": "9.0"}]/
     s/"isas": \[\]/"isas": [{"name": "", "allowed": true}]/' machine.json >all.json
documented machine all.json
if command -v python3 >/dev/null; then python3 machine.py machine.json; fi
# The second time it comes from the cache, with the same numbers, unless the first was disturbed.
sed -i 's/ disturbed [0-9]*$/ steady/' hone/machine.txt
env -u HONE_ISA "$HONE" machine -q --json >again.json
grep -c '"cached": true' again.json
sed -i 's/"disturbed": true/"disturbed": false/' machine.json
sed 's/"cached": true/"cached": false/' again.json | cmp - machine.json
ls hone
hone machine now
