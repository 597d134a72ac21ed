. "$SOURCE/tests/cli/lib.sh"
"$HONE" compare -q --json "$models/names.onnx" "$models/names.onnx" --fill ones --samples 1 --no-time |
    grep -o '"tensors": \[\|"breaks_at": null\|"bisect": null\|"reduce": null'
"$HONE" compare -q --json "$models/layers.onnx" "$models/damaged.onnx" --fill ones --samples 1 \
    --no-time --bisect --reduce -o small.onnx -t 1 >compare.json
grep -o '"breaks_at".*' compare.json
sed 's/"unmatched": \[\]/"unmatched": ["x"]/' compare.json >full.json
documented compare full.json
