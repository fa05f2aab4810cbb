"""The names a checkpoint may use, each with what it describes here. None of them is imported: a tensor becomes a
`Stored`, a container becomes Python's own, and harmless data classes become an `Object` that only keeps its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from traindx.checkpoints.tensor import MOST_DIMENSIONS


class Damaged(Exception):
    """The description contradicts itself."""


@dataclass(frozen=True, slots=True)
class Global:
    """A name that a pickle refers to."""

    name: str


@dataclass(slots=True, eq=False)
class Object:
    """An instance of a class that is not interpreted: its name, and the state that was set on it."""

    name: str
    arguments: tuple[Any, ...] = ()
    state: Any = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A dtype of torch under the name it has here; '' for those that cannot be read."""

    dtype: str


@dataclass(frozen=True, slots=True)
class Storage:
    """A block of memory that tensors share. Untyped ones (dtype '') count bytes, the others elements."""

    dtype: str
    key: str
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """A tensor in a pickle: a window into a storage. `dtype` is '' where it cannot be read (sparse, quantised)."""

    storage: Storage | None
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    requires_grad: bool | None = None


_TORCH_DTYPES = {
    "float64": "F64", "double": "F64", "float32": "F32", "float": "F32", "float16": "F16", "half": "F16",
    "bfloat16": "BF16",
    "int64": "I64", "long": "I64", "int32": "I32", "int": "I32", "int16": "I16", "short": "I16", "int8": "I8",
    "uint8": "U8",
    "uint16": "U16", "uint32": "U32", "uint64": "U64", "bool": "BOOL", "complex64": "C64", "complex128": "C128",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0", "complex32": "", "qint8": "", "quint8": "", "qint32": "", "quint4x2": "",
    "quint2x4": "",
    "float4_e2m1fn_x2": "",
}  # fmt: skip
_TORCH_STORAGES = {
    "Double": "F64", "Float": "F32", "Half": "F16", "BFloat16": "BF16", "Long": "I64", "Int": "I32", "Short": "I16",
    "Char": "I8",
    "Byte": "U8", "Bool": "BOOL", "ComplexFloat": "C64", "ComplexDouble": "C128",
}  # fmt: skip
DTYPES: Mapping[str, Kind] = {f"torch.{name}": Kind(dtype) for name, dtype in _TORCH_DTYPES.items()}
STORAGES: Mapping[str, str] = {
    **{f"torch.{name}Storage": dtype for name, dtype in _TORCH_STORAGES.items()},
    **{f"torch.cuda.{name}Storage": dtype for name, dtype in _TORCH_STORAGES.items()},
    "torch.storage.UntypedStorage": "", "torch.UntypedStorage": "",
}  # fmt: skip


def _integers(values: Any) -> tuple[int, ...]:
    whole = tuple(values)
    if len(whole) > MOST_DIMENSIONS or any(not isinstance(value, int) or value < 0 for value in whole):
        raise Damaged("a tensor of impossible shape")
    return whole


def _tensor(
    storage: Any, offset: Any, shape: Any, strides: Any, requires_grad: Any = None, *_: Any, dtype: str | None = None
) -> Stored:
    if not isinstance(storage, Storage) or not isinstance(offset, int) or offset < 0:
        raise Damaged("a tensor without a storage")
    sizes, steps = _integers(shape), _integers(strides)
    if len(sizes) != len(steps):
        raise Damaged("a tensor of impossible shape")
    grad = requires_grad if isinstance(requires_grad, bool) else None
    return Stored(storage, storage.dtype if dtype is None else dtype, offset, sizes, steps, grad)


def _tensor_of_kind(
    storage: Any, offset: Any, shape: Any, strides: Any, grad: Any, hooks: Any, kind: Any, *_: Any
) -> Stored:
    if not isinstance(kind, Kind):
        raise Damaged("a tensor of unknown dtype")
    return _tensor(storage, offset, shape, strides, grad, dtype=kind.dtype)


def _parameter(data: Any, requires_grad: Any = True, *_: Any) -> Any:
    if not isinstance(data, Stored):
        return data
    grad = requires_grad if isinstance(requires_grad, bool) else None
    return Stored(data.storage, data.dtype, data.offset, data.shape, data.strides, grad)


def _from_type(function: Any, kind: Any, arguments: Any, *_: Any) -> Any:
    """A tensor with attributes or of a subclass: the function that makes the plain tensor, and its arguments."""
    make = ALLOWED.get(function.name) if isinstance(function, Global) else None
    if make is None or not isinstance(arguments, tuple) or make is _from_type:
        raise Damaged("a tensor that is made by something unknown")
    return make(*arguments)


def _no_numbers(*_: Any) -> Stored:
    return Stored(None, "", 0, (), ())


def _ordered(*arguments: Any) -> dict[Any, Any]:
    """collections.OrderedDict and its kin: empty, or from pairs."""
    given = arguments[-1] if arguments else ()
    if isinstance(given, dict):
        return dict(given)
    pairs = given if isinstance(given, list | tuple) else ()
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and isinstance(pair[0], str | int)}


def _first(*arguments: Any) -> Any:
    return arguments[0] if arguments else None


def _elements(*arguments: Any) -> tuple[Any, ...]:
    return tuple(arguments[0]) if arguments and isinstance(arguments[0], tuple | list) else ()


def _listed(*arguments: Any) -> list[Any]:
    """A set as a list: nobody looks an element up, and hashing what a stranger wrote is not free of risk."""
    return list(arguments[0]) if arguments and isinstance(arguments[0], list | tuple) else []


def _encoded(text: Any, encoding: Any = "latin1") -> bytes:
    """How protocol 2 writes bytes: text and the encoding that turns it back."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise Damaged("bytes in an unknown encoding")
    return text.encode("latin1")


def _path(*parts: Any) -> str:
    return "/".join(str(part) for part in parts if isinstance(part, str))


def _numpy_kind(code: Any = "", *_: Any) -> Object:
    return Object("numpy.dtype", (code,))


def _numpy_scalar(kind: Any, data: Any = None) -> Any:
    """A numpy number: a dtype such as 'f8', and its bytes in the machine's order."""
    code = kind.arguments[0] if isinstance(kind, Object) and kind.arguments else None
    if not isinstance(code, str) or code not in (
        "f8",
        "f4",
        "f2",
        "i8",
        "i4",
        "i2",
        "i1",
        "u8",
        "u4",
        "u2",
        "u1",
        "b1",
    ):
        return None
    if isinstance(data, str):
        data = data.encode("latin1")
    if not isinstance(data, bytes) or len(data) != int(code[1]):
        raise Damaged("a numpy number of the wrong size")
    return np.frombuffer(data, np.dtype(f"<{code}"))[0].item()


def _kept(name: str) -> Callable[..., Object]:
    def make(*arguments: Any) -> Object:
        return Object(name, arguments)

    return make


# Data classes without behaviour that checkpoints of common trainers carry: settings, versions, random states.
_KEPT = (
    "argparse.Namespace", "torch.torch_version.TorchVersion", "torch.device", "numpy.ndarray", "datetime.datetime",
    "datetime.timedelta", "numpy._core.multiarray._reconstruct", "numpy.core.multiarray._reconstruct",
    "types.SimpleNamespace",
    "lightning_fabric.utilities.data.AttributeDict", "lightning.fabric.utilities.data.AttributeDict",
    "pytorch_lightning.utilities.parsing.AttributeDict", "lightning.pytorch.utilities.parsing.AttributeDict",
    "omegaconf.dictconfig.DictConfig", "omegaconf.listconfig.ListConfig", "omegaconf.base.ContainerMetadata",
    "omegaconf.base.Metadata", "omegaconf.nodes.AnyNode", "typing.Any", "builtins.complex", "decimal.Decimal",
    "torch.distributed.checkpoint.metadata.Metadata", "torch.distributed.checkpoint.metadata.TensorStorageMetadata",
    "torch.distributed.checkpoint.metadata.BytesStorageMetadata",
    "torch.distributed.checkpoint.metadata.ChunkStorageMetadata",
    "torch.distributed.checkpoint.metadata.TensorProperties", "torch.distributed.checkpoint.metadata.MetadataIndex",
    "torch.distributed.checkpoint.metadata.StorageMeta", "torch.distributed.checkpoint.metadata._MEM_FORMAT_ENCODING",
    "torch.distributed.checkpoint.filesystem._StorageInfo", "torch.serialization._get_layout",
    "torch.distributed._shard.sharded_tensor.metadata.TensorProperties",
)  # fmt: skip
ALLOWED: Mapping[str, Callable[..., Any]] = {
    **{name: _kept(name) for name in _KEPT},
    **{f"{module}.{name}": make for module in ("builtins", "__builtin__") for name, make in (
        ("set", _listed), ("frozenset", _listed), ("dict", _ordered), ("list", _listed), ("tuple", _elements),
        ("bytearray", _first), ("slice", _kept("slice")), ("range", _kept("range")), ("bytes", _first), ("int", _first),
        ("float", _first), ("str", _first), ("bool", _first))},
    **{f"pathlib.{name}": _path for name in ("Path", "PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")},
    **{f"pathlib._local.{name}": _path for name in ("Path", "PosixPath", "WindowsPath", "PurePosixPath",
                                                    "PureWindowsPath")},
    **{f"numpy{core}.multiarray.scalar": _numpy_scalar for core in ("._core", ".core")},
    "numpy.dtype": _numpy_kind,
    "_codecs.encode": _encoded,
    "collections.OrderedDict": _ordered, "collections.defaultdict": lambda *_: {}, "collections.Counter": _ordered,
    "collections.deque": _listed,
    "torch.Size": _elements, "torch.Tensor": _first, "torch.nn.parameter.Parameter": _parameter,
    "torch.nn.Parameter": _parameter,
    "torch._utils._rebuild_tensor": _tensor, "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_of_kind, "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter, "torch._tensor._rebuild_from_type_v2": _from_type,
    "torch._utils._rebuild_sparse_tensor": _no_numbers, "torch._utils._rebuild_qtensor": _no_numbers,
    "torch._utils._rebuild_meta_tensor_no_storage": _no_numbers, "torch._utils._rebuild_nested_tensor": _no_numbers,
    "torch._utils._rebuild_wrapper_subclass": _no_numbers,
    "torch._utils._rebuild_device_tensor_from_numpy": _no_numbers,
}  # fmt: skip
