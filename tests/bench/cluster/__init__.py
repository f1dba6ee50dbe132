"""Turno on a real control plane, measured: `make bench ARGS="cluster [FIGURE ...]"`.

One Kubernetes with the real Kueue (`deploy.control_plane`), one Turno of real processes on PostgreSQL where the machine
has it, else on SQLite. Each figure stands in a module of its own, with its target:

| figure | what is measured |
|---|---|
| `lives` | requests to the API server in the life of one workload of each kind, from the audit log |
| `singles` | from submit to the object, one after the other, beside the official client |
| `burst` | 500 workloads at once, beside a script that creates the same Jobs, and beside Kueue's own admission |
| `admitted` | from Kueue's `Admitted`, as a bare watch hears of it, to the state over REST |
| `streams` | a web process with 1,000 idle long polls |
| `outage` | an API server that is down for 60 s: what is acknowledged, and how fast it is made up for |
| `idle` | requests in a minute of an idle Turno with 2,000 running workloads |
| `memory` | resident memory of `watch` at 2,000 and 10,000 workloads, and a relist beside a typed client's list |

`--rounds`, `--burst`, `--idle` and so on make them smaller or larger (`--help`). Figures are medians of rounds in which
both sides take turns. Every line ends with the target and whether it was met; where one was not, the command ends
with 1.
"""
