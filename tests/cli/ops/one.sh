. "$SOURCE/tests/cli/lib.sh"
hone ops Relu
hone ops com.microsoft.FusedConv
hone ops QuantizeLinear
hone ops relu
hone ops Frobnicate
