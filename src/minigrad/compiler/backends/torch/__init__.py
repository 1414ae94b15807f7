"""Programs on PyTorch, which differentiates them with the slopes of the op table."""
