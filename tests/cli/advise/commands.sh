# label: full
# Every command that a plan for the little model prints is a command line that hone takes.
. "$SOURCE/tests/cli/lib.sh"
cp "$digits" m.onnx
export XDG_CACHE_HOME=$PWD
for target in cpu edge_arm embedded_mcu mobile_npu nvidia_gpu; do
    "$HONE" advise m.onnx --no-run --target $target --json
done >plans.json
python3 - <<'END' >commands || exit 77
import json
seen = []
for line in open("plans.json"):
    for r in json.loads(line)["remedies"]:
        if r["command"] and r["command"] not in seen:
            seen.append(r["command"])
print("\n".join(seen))
END
sed -i 's/DATA/synthetic:digits,n=128/; s/STUDENT.onnx/m.onnx/; s/--epochs 10/--epochs 3/; s/--qat/--qat --epochs 3/' commands
sort -u commands | while read -r name words; do
    # What is given is read from what the plan says, but takes less time here.
    case $words in bench*--tune*|bench*search*) words="$words --runs 2" ;; esac
    case $words in distill*) words="$words --epochs 1" ;; compress*) words="$words --epochs 1" ;; esac
    "$HONE" $words -q >out 2>&1 && echo "ok    $words" || { echo "FAILS $words"; tail -3 out; }
done
