"""Specs -> Kubernetes objects. Pure."""
