# What is wanted decides where the plan ends, and whether it begins.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" make mobilenetv2 -q -o m.onnx >/dev/null
advise() {
    echo "\$ hone advise m.onnx $*"
    "$HONE" advise m.onnx --no-run "$@" | sed -n '/^wanted/p; /^verdict/p; /^plan/,/^speed/p; /left out\|not needed/p; /^  stop/,/^   /p; /^  yes\|^    yes/p; /command/p'
}
for use in video voice search online batch edge recommendation; do
    advise --target edge_arm --use $use
done
advise --target cpu --use online --max-latency 2
advise --target cpu --max-size 4
advise --target cpu --max-run-memory 8
advise --target cpu --max-run-memory 0.001
advise --target edge_arm --max-latency 4 --max-drop 1%
advise --target edge_arm --max-latency 4 --max-drop 0.1%
advise --target mobile_npu --max-latency 3
advise --target cpu --requests-per-day 1000
advise --target cpu --requests-per-day 1e9 --machine-price 100
advise --target cpu --requests-per-day 3e7 --machine-price 100
