"""Floor 5: what people read. It reads the lake, never the live objects."""
