# label: full
# Plans for models people know, on each device: legal for it, and in the order of its tree.
. "$SOURCE/tests/cli/lib.sh"
for model in resnet50 mobilenetv2 bert; do
    "$HONE" make $model -q -o $model.onnx >/dev/null
    for target in cpu edge_arm embedded_mcu mobile_npu nvidia_gpu; do
        echo "## $model on $target"
        "$HONE" advise $model.onnx --no-run --target $target | sed -n '/^bottleneck/p; /^verdict/p; /^plan/,/^speed/p; /command/p; /^the tree/,/^symptoms/p'
    done
done
