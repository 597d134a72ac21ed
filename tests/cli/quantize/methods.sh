# Every transform has its row in the page about them.
sed -n 's/^HN_TRANSFORM(\([a-z0-9_]*\),.*/\1/p' "$SOURCE/src/compress/transforms.def" | while read -r name; do
    grep -q "^| \`$name\` | " "$SOURCE/docs/quantize.md" "$SOURCE/docs/shrink.md" || echo "docs/quantize.md and docs/shrink.md have no row for $name"
done
sed -n 's/^HN_LAYER_TYPE("\([a-z0-9-]*\)",.*/\1/p' "$SOURCE/src/compress/layer_types.def" | while read -r name; do
    grep -q "^| \`$name\` | " "$SOURCE/docs/quantize.md" || echo "docs/quantize.md has no row for $name"
done
