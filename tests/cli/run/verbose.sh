# -v tells what is done; -q not even what was assumed.
"$HONE" run -v "$SOURCE/tests/models/add.onnx" --fill ones 2>&1 |
    sed 's/[0-9.]* ms/T ms/; s/[0-9]* bytes/N bytes/; s/[0-9]* of workspace/N of workspace/'
"$HONE" run -q "$SOURCE/tests/models/add.onnx" --fill ones 2>&1
