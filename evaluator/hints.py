"""What to do about the mistakes that language models make most in Triton, found by what the error says happened."""

from __future__ import annotations

import re

INSTEAD = {
    "tanh": "write it with tl.exp: 2 / (1 + tl.exp(-2 * x)) - 1, or libdevice.tanh",
    "round": "use tl.floor(x + 0.5), or libdevice.rint",
    "pow": "use tl.exp2(y * tl.log2(x)), or libdevice.pow",
    "mean": "use tl.sum(x, axis) divided by the number of valid elements",
    "any": "use tl.max(x.to(tl.int32), axis)",
    "all": "use tl.min(x.to(tl.int32), axis)",
    "relu": "use tl.maximum(x, 0.0)",
    "gelu": "write it with tl.erf or with tl.exp",
    "silu": "use x * tl.sigmoid(x)",
    "clip": "use tl.minimum(tl.maximum(x, low), high)",
    "float": "cast with x.to(tl.float32)",
    "inf": "use float('inf')",
    "log1p": "use tl.log(1 + x), or libdevice.log1p",
    "expm1": "use tl.exp(x) - 1, or libdevice.expm1",
    "pi": "write the number",
    "matmul": "use tl.dot",
    "concatenate": "store the parts one by one",
}
RULES: tuple[tuple[str, str], ...] = (
    (
        r"power of (2|two)",
        "the length of tl.arange and every block size must be a power of two; take triton.next_power_of_2(n) and mask "
        "the lanes beyond n",
    ),
    (
        r"arange.*constexpr|constexpr.*arange|must be of type .?.?constexpr|is not a constexpr",
        "a value that sets a shape must be known to the compiler: declare the parameter as `NAME: tl.constexpr`",
    ),
    (
        r"(M|N|K|all values|dimension).*>= ?(16|32|8)|at least 16|min.*dot.*size",
        "tl.dot needs tiles of at least 16 in every dimension (32 in K for int8): enlarge the block and mask the rest",
    ),
    (r"shared memory", "use smaller blocks, fewer num_stages, or split the reduction dimension into a loop"),
    (r"Both operands must be same dtype|same dtype", "cast one operand of tl.dot, so that both have one dtype"),
    (
        r"(Unsupported ptr type|pointer).*(load|store)|load.*pointer",
        "tl.load and tl.store take a pointer: add the offsets to the pointer argument, not to a loaded value",
    ),
    (
        r"unsupported AST node|continue|break.*not",
        "a kernel can't contain this Python construct: use tl.where or a masked loop",
    ),
    (
        r"incompatible.*dimensions|Cannot make_shape_compatible|cannot broadcast",
        "make the shapes agree with [:, None] and [None, :]",
    ),
    (r"program_id.*axis|axis must be", "tl.program_id has the axes 0, 1 and 2 only"),
    (r"has no len\(\)", "the grid is a tuple of integers: write kernel[(n,)](...)"),
    (
        r"subscript|cannot index|unsupported tensor index",
        "a tensor in a kernel can't be indexed by a number: load the element, or use tl.sum with a mask",
    ),
    (
        r"'NoneType' object has no attribute",
        "an argument of the kernel is None: pass a flag that is tl.constexpr, and load only under `if FLAG:`",
    ),
    (r"global variable", "a kernel reads only globals that are tl.constexpr: pass the value as an argument"),
)


def hint_for(message: str) -> str | None:
    """One line of advice for an error message, or None for what is not known."""
    missing = re.search(r"module 'triton\.language[\w.]*' has no attribute '(\w+)'", message)
    if missing:
        name = missing[1]
        return f"triton.language has no `{name}`" + (f": {INSTEAD[name]}" if name in INSTEAD else "")
    for pattern, advice in RULES:
        if re.search(pattern, message, re.IGNORECASE | re.DOTALL):
            return advice
    return None
