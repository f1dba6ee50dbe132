"""The data plane of the simulated cluster: plays the gateway, the notebooks and the model servers on one port.

Routes come from HTTPRoutes: a host for each notebook (`<name>.localhost`), a path for each endpoint (`/e/<id>`). A rule
with an ExtensionRef filter asks the portal first (`/connect/check/`), as a gateway's forward-auth does.
"""

from portal.cluster.simulated.dataplane.gateway import DataPlane

__all__ = ["DataPlane"]
