#!/bin/bash
# manifests.sh [--check]: writes manifests/ from the chart, as it is with its values but for the namespace; --check says
# whether they are the same, and changes nothing. It needs helm (METE_TEST_HELM names it).
set -euo pipefail

cd "$(dirname "$0")"
helm=${METE_TEST_HELM:-helm}
render() {
	"$helm" template mete chart/mete --namespace mete-system --set namespace.create=true |
		sed -e 's/managed-by: Helm/managed-by: kubectl/' -e '/^# Source: /d'
}

if [ "${1:-}" = --check ]; then
	render | diff -u manifests/mete.yaml -
else
	render > manifests/mete.yaml
fi
