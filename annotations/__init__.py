"""Lists of frames as loaders want them. Pure."""
