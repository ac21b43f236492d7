"""Reads the metrics of a file as Prometheus's own library does, and prints them as JSON."""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

with open(sys.argv[1], encoding="utf-8") as file:
    families = list(text_string_to_metric_families(file.read()))

read = {
    family.name: {
        "type": family.type,
        "unit": family.unit,
        "samples": [[sample.name, sample.labels, sample.value] for sample in family.samples],
    }
    for family in families
}
print("RESULT " + json.dumps(read))
