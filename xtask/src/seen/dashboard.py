"""Reads a Grafana dashboard with Grafana's foundation SDK, and fails if the SDK does not know a part of it."""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

# The parts of exported dashboards that are not in the schema of the SDK: the question for the data source at
# the import, and the text of the query of a variable for the editor.
NOT_IN_SCHEMA = {"/__inputs", "/templating/list/definition"}


def unknown(ours, theirs, path=""):
    """Returns the paths in `ours` that `theirs` lacks."""
    if isinstance(ours, dict):
        for name, value in ours.items():
            below = f"{path}/{name}"
            if not isinstance(theirs, dict) or name not in theirs:
                yield below
            else:
                yield from unknown(value, theirs[name], below)
    elif isinstance(ours, list):
        if not isinstance(theirs, list) or len(ours) != len(theirs):
            yield path
        else:
            for one, other in zip(ours, theirs):
                yield from unknown(one, other, path)
    elif ours != theirs:
        yield path


register_default_plugins()
with open(sys.argv[1], encoding="utf-8") as file:
    dashboard = json.load(file)
read = Dashboard.from_json(dashboard)
again = json.loads(JSONEncoder().encode(read))
found = sorted(set(unknown(dashboard, again)) - NOT_IN_SCHEMA)
panels = sum(panel.type_val != "row" for panel in read.panels)
if found or not panels:
    sys.exit(f"{sys.argv[1]}: Grafana's schema does not know {', '.join(found) or 'any panel'}")
print(f"{panels} panels")
