"""Mutants that the CPU tier must find correct, each with an argument; that none was detected is no argument.

`python -m experiments diagnose` keeps them apart from the mistakes, and fails when one of them is refused.
"""

from __future__ import annotations

EQUIVALENT: dict[tuple[str, str], str] = {
    ("half_away_rounding", "Quantization/matmul_w8a8"): (
        "the two roundings differ at halves only, and there the task allows either: a quotient within a few units in "
        "the last place of a half-integer may be rounded either way"
    ),
    (
        "half_away_rounding",
        "Quantization/attention_w8a8",
    ): "the two roundings differ at halves only, and there the task allows either, as in matmul_w8a8",
    (
        "half_away_rounding",
        "Quantization/bmm_w8a8",
    ): "the two roundings differ at halves only, and there the task allows either, as in matmul_w8a8",
    (
        "half_away_rounding",
        "Quantization/layernorm_w8a8",
    ): "the two roundings differ at halves only, and there the task allows either, as in matmul_w8a8",
    ("shared_memory_over_limit", "Normalization/spectral_norm_eig"): (
        "more stages take more shared memory for loads that feed tl.dot in a loop; this kernel loads ahead of its loop"
    ),
    ("unmasked_load", "Math/bitwise_and_binomial"): (
        "what lies past the end is loaded into lanes of their own, whose results no store writes: it is a warning"
    ),
    ("ignored_argument", "Activation/gelu_int8"): (
        "both forms of GELU truncate to the same int8 for every input, up to the neighbour that the task allows"
    ),
    (
        "ignored_argument",
        "Fusion/fused_dropout_relu_batch_norm_conv2d",
    ): "the first argument with a default is `bias`, which cancels in the batch's own statistics",
    (
        "ignored_argument",
        "Fusion/fused_embedding_add_tanh",
    ): "the first argument with a default concerns gradients only, and changes no value",
    (
        "ignored_argument",
        "Fusion/fused_gather_masked_fill",
    ): "the first argument with a default concerns gradients only, and changes no value",
    ("ignored_argument", "LinearAlgebra/determinant_via_qr"): (
        "for a square matrix the reduced and the complete factorisation give the same determinant"
    ),
    (
        "ignored_argument",
        "LinearAlgebra/low_rank_svd_approximation",
    ): "the first argument with a default is `full_matrices`, which changes nothing in the result",
    (
        "ignored_argument",
        "LinearAlgebra/pseudoinverse_svd",
    ): "the first argument with a default is `full_matrices`, which changes nothing in the result",
    ("wrong_axis", "LinearAlgebra/matrix_power_eig"): "a diagonal mask is summed: one element a row, and one a column",
    ("wrong_axis", "Fusion/fused_svd_reconstruct"): "whatever is turned, its inverse turns back: the product is A",
    ("dropped_divisor", "Fusion/fused_svd_reconstruct"): "whatever is turned, its inverse turns back: the product is A",
    (
        "dropped_function",
        "Fusion/fused_svd_reconstruct",
    ): "whatever is turned, its inverse turns back: the product is A",
    (
        "swapped_strides",
        "Normalization/symmetric_matrix_vector_norm",
    ): "with its strides swapped a matrix is read transposed, and this one is symmetric",
}
"""(kind, task) of what is right for every call that the task allows, and why."""

OUT_OF_REACH: dict[tuple[str, str], str] = {
    ("overwritten_accumulator", "Index/masked_select"): (
        "the sum runs over 1024 blocks of 1024 elements a turn, and is 0 ahead of the first: only calls of more than "
        "2**20 elements have a second turn, for which the interpreter takes seconds; timed cases on a GPU are larger"
    ),
    (
        "overwritten_accumulator",
        "Fusion/fused_masked_select_add_gelu",
    ): "as in masked_select: only calls of more than 2**20 elements have a second turn",
}
"""(kind, task) of mistakes that change nothing in calls as small as an interpreter can run, and why."""


def why_right(kind: str, task: str) -> str | None:
    """Why the mutant of this kind and task is correct on the CPU tier; None for a mistake that must be detected."""
    if why := EQUIVALENT.get((kind, task)):
        return f"equivalent: {why}"
    if why := OUT_OF_REACH.get((kind, task)):
        return f"a mistake out of this tier's reach: {why}"
    return None
