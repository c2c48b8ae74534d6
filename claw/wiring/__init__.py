"""Settings -> objects: the only place that knows everyone."""
