"""The tasks that stand for the suite, one a category, where a test would take too long with all of them."""

from datetime import date

from tasks.catalog import built, index

FIRST = (
    "Activation/gelu_bf16",
    "Convolution/conv2d",
    "Fusion/fused_exp_mean",
    "Index/masked_select",
    "LinearAlgebra/cholesky",
    "Loss/cross_entropy",
    "Math/softmax",
    "MatrixMultiply/matmul",
    "Normalization/batch_norm",
    "Optimizer/AdamW",
    "Pooling/avg_pool1d",
    "Quantization/matmul_w8a8",
    "Random/rand",
    "Reduce/argmax",
    "SpatialOps/interpolate",
)
WEEK = date.today().toordinal() // 7


def sampled() -> list[str]:
    """`FIRST`, and of each category one more where it has more, another each week."""
    rest: dict[str, list[str]] = {}
    for task in built():
        if task not in FIRST:
            rest.setdefault(index()[task].category, []).append(task)
    return [*FIRST, *(tasks[WEEK % len(tasks)] for tasks in rest.values())]
