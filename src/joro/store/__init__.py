"""Where do things live? One small interface per engine."""
