"""What the bits of a coded stream say, without reconstructing a sample."""
