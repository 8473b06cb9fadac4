package myonline

import (
	"github.com/gormflake/gormflake/sqlmigrate/internal/mycatalog"
	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// VersionSQL exposes versionSQL.
const VersionSQL = versionSQL

// CompareStep returns the step that compares the table with its shadow.
func CompareStep(t *mycatalog.Table) plan.OnlineStep { return compareStep(movingTable{Table: t}) }

// Compare exposes compare.
var Compare = compare
