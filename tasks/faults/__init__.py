"""Known mistakes, put into right kernels: what language models get wrong in Triton, as source-to-source edits."""
