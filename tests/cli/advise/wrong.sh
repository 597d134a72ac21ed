. "$SOURCE/tests/cli/lib.sh"
hone advise
hone advise none.onnx
hone advise "$digits" --target nvidia
hone advise "$digits" --target toaster
hone advise "$digits" --use vidio
hone advise "$digits" --max-latency fast
hone advise "$digits" --max-drop much
hone advise "$digits" --data nothing:here
hone advise "$digits" --data synthetic:digits --no-run
hone advise "$digits" --no-run --dim nope=3
hone advise "$models/broken.onnx" --no-run
# A model that does not run has a plan from its counts all the same.
"$HONE" advise "$models/unknown.onnx" --target edge_arm 2>&1 | sed -n '1,/^verdict/p'
# Of which nobody knows how long a run takes: that meets no limit.
"$HONE" advise "$models/unknown.onnx" -q --no-run --max-latency 1000 --requests-per-day 1 | sed -n '/^time/p; /^verdict/p; /^reasons/,$p'
