# The whole plan for each device, made from counts and typical figures: the same on every machine.
. "$SOURCE/tests/cli/lib.sh"
for target in cpu edge_arm embedded_mcu mobile_npu nvidia_gpu; do
    hone advise "$digits" --no-run --target $target
done
