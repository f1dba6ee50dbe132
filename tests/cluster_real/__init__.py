"""Turno on a real API server with the real Kueue (`make test-cluster`)."""
