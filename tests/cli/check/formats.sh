# Files of other kinds are named, with what to do.
. "$SOURCE/tests/cli/lib.sh"
put() { printf "$2" >"$1" && hone check "$1"; }
put new.pt 'PK\003\004\0\0model/data.pkl'
put old.pt '\200\002\212\nl\374\234F\371 j\250P\031.'
put model.keras 'PK\003\004\0\0config.json'
put model.zip 'PK\003\004\0\0model.onnx'
put arrays.npz 'PK\003\004\0\0x.npy'
put model.tflite '\034\0\0\0TFL3\0\0'
put model.h5 '\211HDF\r\n\032\n'
put saved_model.pb '\010\001\022\016\n\014\042\005serve'
put model.safetensors '\100\0\0\0\0\0\0\0{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
put model.gguf 'GGUF\003\0\0\0'
put page.onnx '\n<!DOCTYPE HTML><html>'
put pointer.onnx 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n'
put model.onnx.gz '\037\213\010\0'
put model.onnx.xz '\3757zXZ\0'
hone inspect page.onnx
mkdir folder
hone inspect folder
cp saved_model.pb folder
hone inspect folder
cp page.onnx folder/model.onnx
hone inspect folder
