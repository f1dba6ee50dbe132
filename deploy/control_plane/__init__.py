"""A real Kubernetes API server with the real Kueue, on the loopback address: built from Go modules, no containers."""
