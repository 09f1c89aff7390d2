// Checks a ServiceMonitor, as JSON on standard input, against the definitions of the Prometheus Operator.

import { readFileSync } from "node:fs";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";

new ServiceMonitor(JSON.parse(readFileSync(0, "utf8"))).validate();
