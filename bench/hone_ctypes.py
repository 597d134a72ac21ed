"""hone for Python, as far as bench needs it: load a model and run it, through the C API.

The structures mirror include/hone/hone.h of version 0.1. The plain names of functions go on working with the structs of that
version; options tell their own size, so their last fields may be left out here.
"""

import ctypes as c
import os

import numpy as np

MAX_RANK = 16
DTYPES = {  # hone_dtype, which is ONNX's own numbering
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
    9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
}  # fmt: skip
NUMBERS = {np.dtype(dtype): number for number, dtype in DTYPES.items()}


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("text", c.c_char * 1024)]


class Value(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("dtype", c.c_int),
        ("rank", c.c_int),
        ("dims", c.c_int64 * MAX_RANK),
        ("data", c.c_void_p),
        ("bytes", c.c_size_t),
        ("owner", c.c_void_p),
    ]


class ValueInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        ("dtype", c.c_int),
        ("rank", c.c_int),
        ("dims", c.c_int64 * MAX_RANK),
        ("dim_names", c.c_char_p * MAX_RANK),
    ]


class SessionOptions(c.Structure):
    _fields_ = [
        ("size", c.c_uint32),
        ("backend", c.c_char_p),
        ("threads", c.c_int),
        ("max_memory", c.c_size_t),
        ("seed", c.c_uint64),
        ("keep_going", c.c_void_p),
        ("keep_going_ctx", c.c_void_p),
        ("isa", c.c_char_p),
        ("pin_threads", c.c_bool),
        ("reserve_cores", c.c_int),
        ("no_sharing", c.c_bool),
        ("tune", c.c_char_p),
        ("tune_cache", c.c_char_p),
        ("without", c.c_char_p),
        ("precision", c.c_char_p),
    ]


class HoneError(Exception):
    pass


class Library:
    """The shared library: every function of hone.h, called through call() when it can fail."""

    def __init__(self, path):
        self.lib, self.error = c.CDLL(os.path.abspath(path)), Error()
        self.error_ref = c.byref(self.error)
        self.lib.hone_model_n_outputs.restype = c.c_size_t
        self.lib.hone_version.restype = c.c_char_p

    def version(self):
        return self.lib.hone_version().decode()

    def call(self, function, *args):
        if getattr(self.lib, function)(*args, self.error_ref) != 0:
            self.fail()

    def fail(self):
        raise HoneError(self.error.text.decode(errors="replace"))


class Session:
    """A model made ready to run; None stands for the library's defaults."""

    def __init__(self, library, path, threads, backend=None, precision=None, isa=None):
        self.library, lib = library, library.lib
        self.model, self.session = c.c_void_p(), c.c_void_p()
        library.call("hone_model_load", c.byref(self.model), os.fsencode(path), None)
        options = SessionOptions()
        lib.hone_session_options_init_sized(c.byref(options), c.c_size_t(c.sizeof(options)))
        options.threads = threads
        given = {"backend": backend, "precision": precision, "isa": isa}
        for name, text in given.items():
            if text is not None:
                setattr(options, name, text.encode())
        library.call("hone_session_create", c.byref(self.session), self.model, c.byref(options))
        self.out = (Value * lib.hone_model_n_outputs(self.model))()
        for i, value in enumerate(self.out):
            info = ValueInfo()
            library.call("hone_model_output", self.model, c.c_size_t(i), c.byref(info))
            value.name = info.name

    def bind(self, inputs):
        """Sets the inputs of the runs to come, arrays by name."""
        self.held = {name: np.asarray(array, order="C") for name, array in inputs.items()}
        values = (Value * len(self.held))()
        for value, (name, array) in zip(values, self.held.items()):
            value.name, value.dtype = name.encode(), NUMBERS[array.dtype]
            value.rank, value.dims[: array.ndim] = array.ndim, array.shape
            value.data, value.bytes = array.ctypes.data, array.nbytes
        self.release()
        n_in, n_out = c.c_size_t(len(values)), c.c_size_t(len(self.out))
        self.run_args = self.session, n_in, values, n_out, self.out
        self.run_function = self.library.lib.hone_session_run

    def run(self):
        """Runs once. The first run makes memory for the outputs, later ones write over it."""
        if self.run_function(*self.run_args, self.library.error_ref) != 0:
            self.library.fail()

    def outputs(self):
        arrays = []
        for value in self.out:
            flat = np.frombuffer(c.string_at(value.data, value.bytes), DTYPES[value.dtype])
            arrays.append(flat.reshape(value.dims[: value.rank]))
        return arrays

    def release(self):
        self.library.lib.hone_value_release(self.out, c.c_size_t(len(self.out)))

    def close(self):
        self.release()
        self.library.lib.hone_session_destroy(self.session)
        self.library.lib.hone_model_destroy(self.model)
