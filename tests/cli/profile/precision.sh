# Precisions of all nodes and of some; what bf16 does to the outputs is told; what cannot be is said.
. "$SOURCE/tests/cli/lib.sh"
hone profile "$digits" -q --no-roofline --precision f16
hone profile "$digits" -q --no-roofline --layer-precision "*:bf16,nothing*:f32"
hone profile "$digits" -q --no-roofline --layer-precision "*:int8"
hone profile "$digits" -q --no-roofline --layer-precision "*"
hone bench "$digits" -q --layer-precision "nothing:f32" --precision f32,bf16
# Whether bf16 is computed in f32 instead, which a note says, depends on the machine.
told() { sed '/note: computes in f32/d; s/by [0-9.e-]* of/by N of/; s/, [0-9.e-]* at most/, N at most/'; }
"$HONE" profile "$digits" --dim batch=2 --runs 1 --no-roofline --precision bf16 2>&1 >/dev/null | told
"$HONE" run "$digits" --dim batch=2 --fill random --layer-precision "*:bf16" 2>&1 >/dev/null | told
"$HONE" bench "$digits" -b 2 --runs 1 --precision f32,bf16 2>&1 >/dev/null | told
"$HONE" bench "$digits" -b 2 -q --runs 1 --precision f32,bf16 --json |
    grep -o '"difference_max": [0-9n]'
# A float model leaves auto no choice.
"$HONE" profile "$digits" --dim batch=2 --runs 1 --no-roofline --precision auto --tune-cache none.txt --json 2>&1 |
    grep -o '"precision": "[a-z0-9]*"\|hone: .*' | sort -u
# What is computed in f32 is called so, with the reason, however it was asked for.
used() { grep -o '"precision": "[a-z0-9-]*"\(, "why_precision": [^,]*\)\?\|hone: note: computes.*' | sort -u; }
for asked in bf16 f32-relaxed; do
    "$HONE" bench "$digits" -b 2 --runs 1 --precision $asked --isa portable --json 2>&1 | used
    "$HONE" run "$digits" --dim batch=2 --fill random --precision $asked --isa portable --json 2>&1 | used
    "$HONE" profile "$digits" --dim batch=2 --runs 1 --no-roofline --precision $asked --isa portable --json 2>&1 | used
    "$HONE" eval "$digits" --data synthetic:digits,n=4 --precision $asked --isa portable 2>&1 >/dev/null | used
    "$HONE" compare "$digits" "$digits" --data synthetic:digits,n=4 --precision $asked --isa portable --json 2>&1 | used
done
"$HONE" run "$digits" --dim batch=2 --fill random --precision bf16 --backend reference --json 2>&1 | used
