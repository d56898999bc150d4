"""AV1: syntax of OBUs and headers, reference slots, and streams as pictures (AV1 specification)."""
