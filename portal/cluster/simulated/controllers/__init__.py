"""The controllers of the simulated cluster: what kube-controller-manager, the scheduler, the kubelets and Kueue do.

`manager.Manager` runs them all over one store, level-triggered and driven by an injected clock.
"""
